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

/** Several chunks are sent in one request of up to about this size, well below the service's limit for a body. */
const BATCH_BYTES = 8 * 1024 * 1024;

/** The shortest timeout of one try, however little time is left in total. */
const SHORTEST_TIMEOUT_MS = 5_000;
/** How many stream names are requested at a time. */
const NAMES = 1000;

/** The stream operations in the service's argument order, with the run first. Both SDK generations use them. */
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

/** A writer's own numbering: its id, and the number of the first chunk in this call. */
interface Writer {
  id: string;
  sequence: number;
}

/** The source of a write. */
interface Source {
  step: StepExecution | undefined;
  /** The steps that it may be, if the SDK does not name one. */
  oneOf?: Promise<StepAttempt[]> | undefined;
  /** It is retried until it succeeds. */
  endless?: boolean;
  writer?: Writer;
}

/** Builds the stream operations. They do nothing until one is called. */
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
      // No step waits for a stream that is written outside of steps, such as one that a step returned. If it were
      // abandoned, its buffered data would be lost, and no step would run again.
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
        // An older service has no pages and sends all names.
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

/** The source of a write to a stream at this point. It must be called before the caller awaits anything. */
function sourceOf(name: string): Source {
  const step = currentStep();
  return step ? { step } : { step, oneOf: writersOf(name) };
}

/** Makes a call that writes to a stream or ends it, and records if a step's call was abandoned. */
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
 * The step execution that writes, so that the service accepts a step's writes after its own close. If there are
 * several, one of them writes, and it is not known which.
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

/** Splits chunks into groups of at most {@link BATCH_BYTES}; a larger chunk is alone. */
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
