import { call } from './call.js';
import type { Config } from './config.js';
import { encode } from './encoding.js';
import { CHUNKS, encodeFrames } from './frames.js';
import { pathSegment, withQuery } from './path.js';
import { openStream } from './streamReader.js';
import type { ChunkPage, GetChunksOptions, StreamInfo, StreamWriteSession } from './types.js';

/** What the SDK may write as one chunk. */
export type Chunk = string | Uint8Array;

/** Several chunks go out in one request up to about this size, well below the service's limit for a body. */
const BATCH_BYTES = 8 * 1024 * 1024;

/** The stream operations in the service's own argument order: run first. Both SDK generations map onto them. */
export interface Streams {
  write(runId: string | Promise<string>, name: string, chunk: Chunk): Promise<void>;
  writeMulti(runId: string | Promise<string>, name: string, chunks: Chunk[]): Promise<void>;
  close(runId: string | Promise<string>, name: string): Promise<void>;
  /** A writer that numbers its chunks; the service stores each number once, however late it is sent again. */
  createWriteSession(runId: string, name: string, options: { writerId: string }): StreamWriteSession;
  read(name: string, startIndex?: number): Promise<ReadableStream<Uint8Array>>;
  list(runId: string): Promise<string[]>;
  getChunks(name: string, options?: GetChunksOptions): Promise<ChunkPage>;
  getInfo(name: string): Promise<StreamInfo>;
}

/** A writer's own numbering: its id, and the number of the first chunk that it sends now. */
interface Writer {
  id: string;
  sequence: number;
}

/** Builds the stream operations; nothing happens until one is called. */
export function createStreams(config: () => Config): Streams {
  const streamPath = async (runId: string | Promise<string>, name: string) =>
    `/v1/runs/${pathSegment(await runId)}/streams/${pathSegment(name)}`;

  const append = async (runId: string | Promise<string>, name: string, chunks: Chunk[], writer?: Writer) => {
    const path = await streamPath(runId, name);
    let sent = 0;
    for (const batch of batches(chunks.map(toBytes))) {
      const only = batch.length === 1 ? batch[0] : undefined;
      await call(config(), {
        method: 'POST',
        path,
        body: only ?? encodeFrames(batch),
        contentType: only === undefined ? CHUNKS : 'application/octet-stream',
        headers: writer && {
          'x-stream-writer': writer.id,
          'x-stream-sequence': String(writer.sequence + sent),
        },
      });
      sent += batch.length;
    }
  };

  const close = async (runId: string | Promise<string>, name: string) => {
    await call(config(), { method: 'POST', path: `${await streamPath(runId, name)}/close`, body: encode({}) });
  };

  return {
    write: (runId, name, chunk) => append(runId, name, [chunk]),
    writeMulti: (runId, name, chunks) => append(runId, name, chunks),
    close,
    createWriteSession: (runId, name, { writerId }) => ({
      write: (sequence, chunks) => append(runId, name, chunks, { id: writerId, sequence }),
      close: () => close(runId, name),
    }),
    async read(name, startIndex = 0) {
      return openStream(config(), name, startIndex);
    },
    async list(runId) {
      const answer = await call(config(), { method: 'GET', path: `/v1/runs/${pathSegment(runId)}/streams` });
      return (answer as { data: string[] }).data;
    },
    async getChunks(name, options) {
      const path = withQuery(`/v1/streams/${pathSegment(name)}/chunks`, {
        limit: options?.limit,
        cursor: options?.cursor,
      });
      const page = (await call(config(), { method: 'GET', path })) as ChunkPage;
      return { data: page.data, cursor: page.cursor ?? null, hasMore: page.hasMore, done: page.done };
    },
    async getInfo(name) {
      const answer = await call(config(), { method: 'GET', path: `/v1/streams/${pathSegment(name)}/info` });
      const { tailIndex, done } = answer as StreamInfo;
      return { tailIndex, done };
    },
  };
}

function toBytes(chunk: Chunk): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
}

/** Splits chunks into runs of at most {@link BATCH_BYTES}; a larger chunk goes alone. */
function* batches(chunks: Uint8Array[]): Generator<Uint8Array[]> {
  let batch: Uint8Array[] = [];
  let size = 0;
  for (const chunk of chunks) {
    if (batch.length > 0 && size + chunk.byteLength > BATCH_BYTES) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(chunk);
    size += chunk.byteLength;
  }
  if (batch.length > 0) yield batch;
}
