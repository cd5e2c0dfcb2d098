import type { Config } from '../config.js';
import { currentStep } from '../delivery/currentStep.js';
import { type StepAttempt, writersOf } from '../delivery/givenStreams.js';
import { stepWrites } from '../delivery/stepWrites.js';
import type { StepExecution } from '../sdk/stepContext.js';
import { type Call, call, type Patience, serviceUrl } from '../transport/call.js';
import type { ChunkPage, GetChunksOptions, StreamInfo, StreamWriteSession } from '../types.js';
import { listIn } from '../wire/answerShape.js';
import { encode } from '../wire/encoding.js';
import { CHUNKS, encodeFrames } from '../wire/frames.js';
import { pathSegment, withQuery } from '../wire/path.js';
import { openStream } from './streamReader.js';

/** What the SDK may write as one chunk. */
type Chunk = string | Uint8Array;

/** Several chunks go out in one request up to about this size, well below the service's limit for a body. */
const BATCH_BYTES = 8 * 1024 * 1024;

/** How long a try may wait for its answer at least, however short the time is for all of them. */
const SHORTEST_TIMEOUT_MS = 5_000;
/** How many names of streams are asked for at a time. */
const NAMES = 1000;

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

/** Who writes. */
interface Source {
  step: StepExecution | undefined;
  /** Which steps it may be, where the SDK does not say it. */
  oneOf?: Promise<StepAttempt[]> | undefined;
  /** It is tried until it gets through. */
  endless?: boolean;
  writer?: Writer;
}

/** Builds the stream operations; nothing happens until one is called. */
export function createStreams(config: () => Config): Streams {
  const streamPath = async (runId: string | Promise<string>, name: string) => `/v1/runs/${pathSegment(await runId)}/streams/${pathSegment(name)}`;

  const append = async (runId: string | Promise<string>, name: string, chunks: Chunk[], from: Source) => {
    const path = await streamPath(runId, name);
    let sent = 0;
    for (const batch of batches(chunks.map(toBytes))) {
      const only = batch.length === 1 ? batch[0] : undefined;
      await send(config(), from, {
        method: 'POST',
        path,
        body: only ?? encodeFrames(batch),
        contentType: only === undefined ? CHUNKS : 'application/octet-stream',
        headers: from.writer && {
          'x-stream-writer': from.writer.id,
          'x-stream-sequence': String(from.writer.sequence + sent),
        },
      });
      sent += batch.length;
    }
  };

  const close = async (runId: string | Promise<string>, name: string, from: Source) => {
    await send(config(), from, { method: 'POST', path: `${await streamPath(runId, name)}/close`, body: encode({}) });
  };

  return {
    write: (runId, name, chunk) => append(runId, name, [chunk], sourceOf(name)),
    writeMulti: (runId, name, chunks) => append(runId, name, chunks, sourceOf(name)),
    close: (runId, name) => close(runId, name, sourceOf(name)),
    createWriteSession(runId, name, { writerId }) {
      const source = sourceOf(name);
      // No step waits for a stream that is written outside of steps, such as one that a step returned. What is buffered of
      // it is lost when it is given up, and no step would run again.
      const from = { ...source, endless: source.step === undefined };
      return {
        write: (sequence, chunks) => append(runId, name, chunks, { ...from, writer: { id: writerId, sequence } }),
        close: () => close(runId, name, from),
      };
    },
    async read(name, startIndex = 0) {
      return openStream(config(), name, startIndex);
    },
    async list(runId) {
      const names: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const path = withQuery(`/v1/runs/${pathSegment(runId)}/streams`, { limit: NAMES, cursor });
        const page = await call(config(), { method: 'GET', path });
        names.push(...listIn<string>(page, 'data', serviceUrl(config(), path)));
        const { hasMore, cursor: next } = page as { hasMore?: boolean; cursor?: string | null };
        // An older service knows of no pages and sends all of them.
        if (!hasMore || !next) return names;
        cursor = next;
      }
    },
    async getChunks(name, options) {
      const path = withQuery(`/v1/streams/${pathSegment(name)}/chunks`, {
        limit: options?.limit,
        cursor: options?.cursor,
      });
      const page = (await call(config(), { method: 'GET', path })) as ChunkPage;
      return { data: listIn(page, 'data', serviceUrl(config(), path)), cursor: page.cursor ?? null, hasMore: page.hasMore, done: page.done };
    },
    async getInfo(name) {
      const answer = await call(config(), { method: 'GET', path: `/v1/streams/${pathSegment(name)}/info` });
      const { tailIndex, done } = answer as StreamInfo;
      return { tailIndex, done };
    },
  };
}

/** Who writes here and now to a stream. Must be asked before the caller waits for anything. */
function sourceOf(name: string): Source {
  const step = currentStep();
  return step ? { step } : { step, oneOf: writersOf(name) };
}

/** Makes a call that adds to a stream or ends it, and remembers if that of a step was given up. */
async function send(config: Config, { step, oneOf, endless }: Source, request: Call): Promise<void> {
  const write = step && stepWrites().writes(step);
  const patience: Patience = {
    forMs: endless ? Number.POSITIVE_INFINITY : config.streamRetryForMs,
    timeoutMs: Math.min(config.timeoutMs, Math.max(SHORTEST_TIMEOUT_MS, config.streamRetryForMs / 3)),
    failed: () => {
      if (write) write.failed = true;
    },
    gaveUp: (error) => {
      if (step) stepWrites().gaveUp(step, error);
    },
  };
  try {
    const steps = step ? [step] : await oneOf;
    await call(config, { ...request, headers: { ...request.headers, ...stepHeaders(steps) }, patience });
  } finally {
    write?.end();
  }
}

/**
 * Which execution of which step writes, so that the service takes what a step writes behind its own close. Of several steps
 * it is one, and nothing says which.
 */
function stepHeaders(steps: StepAttempt[] | undefined): Record<string, string> | undefined {
  const [first, ...others] = steps ?? [];
  if (!first) return undefined;
  if (others.length === 0) return { 'x-stream-step': first.stepId, 'x-stream-attempt': String(first.attempt) };
  return { 'x-stream-steps': [first, ...others].map(({ stepId, attempt }) => `${stepId} ${attempt}`).join(', ') };
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
