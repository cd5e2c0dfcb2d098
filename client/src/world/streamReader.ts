import type { Config } from '../config.js';
import { WorkflowWorldError } from '../sdk/errors.js';
import { commonHeaders, decodeBody, pauseBefore, pauseFor, retryAfterSeconds, serviceUrl } from '../transport/call.js';
import { type Connection, connectionTo } from '../transport/connection.js';
import { type Answer, readAll } from '../transport/exchange.js';
import { Pieces } from '../transport/pieces.js';
import { transportError } from '../transport/transportError.js';
import { CHUNKS, FrameDecoder } from '../wire/frames.js';
import { pathSegment } from '../wire/path.js';
import { errorFromWire, type WireError } from '../wire/wireError.js';

/** How long a read tries to reconnect to a service that does not answer, before the stream fails. */
const GIVE_UP_AFTER_MS = 30_000;
/** A connection that lasted this long was good, even if it carried nothing. */
const GOOD_CONNECTION_MS = 5_000;
/** How long a body may take to end after its end frame, before its connection is closed. */
const LINGER_MS = 1_000;

/**
 * Opens a live read of a stream. It begins immediately (a negative start index counts from the current end), reads
 * only as fast as its reader, survives lost connections by continuing at the next index, and ends when the stream's
 * end is recorded. Cancelling it ends the request.
 */
export function openStream(config: Config, name: string, startIndex: number): ReadableStream<Uint8Array> {
  const live = new LiveRead(config, name, startIndex);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunks = await live.next();
      if (live.cancelled) return;
      // All chunks received together: the stream asks again only after they were taken, so an error never overtakes
      // them.
      for (const chunk of chunks ?? []) controller.enqueue(chunk);
      if (chunks === undefined) controller.close();
    },
    cancel: () => live.cancel(),
  });
}

/** One live read over any number of connections. */
class LiveRead {
  cancelled = false;
  readonly #config: Config;
  readonly #path: string;
  /** The next index to request; negative until the service has resolved it. */
  #nextIndex: number;
  #body: Pieces | undefined;
  #decoder = new FrameDecoder();
  #ready: Uint8Array[] = [];
  readonly #abort = new AbortController();
  #connection: Connection | undefined;
  #connectedAt = Number.POSITIVE_INFINITY;
  #failures = 0;
  #failingSince = 0;

  constructor(config: Config, name: string, startIndex: number) {
    this.#config = config;
    this.#path = `/v1/streams/${pathSegment(name)}`;
    this.#nextIndex = startIndex;
  }

  /** The next non-empty chunks, at least one; undefined at the end of the stream or when cancelled. */
  async next(): Promise<Uint8Array[] | undefined> {
    while (!this.cancelled) {
      const ready = this.#ready;
      this.#ready = [];
      this.#nextIndex += ready.length;
      // An empty chunk has an index but no bytes, and a byte stream does not accept it.
      const chunks = ready.filter((chunk) => chunk.byteLength > 0);
      if (chunks.length > 0) return chunks;
      if (this.#decoder.ended) return undefined;
      await this.#readOn();
    }
    return undefined;
  }

  cancel(): void {
    this.cancelled = true;
    this.#ready = [];
    this.#abort.abort();
  }

  /** Whether `close()` was called since this read began; it then ends instead of opening a connection again. */
  get #closed(): boolean {
    return this.#connection?.closing.signal.aborted ?? false;
  }

  /** Reads one piece of the body, and connects first if necessary. */
  async #readOn(): Promise<void> {
    try {
      this.#body ??= await this.#connect();
      const piece = await this.#body.next();
      if (piece === undefined) throw new Error('the connection was cut before the end of the stream');
      this.#failures = 0;
      this.#ready = this.#decoder.push(piece);
      if (this.#decoder.ended) this.#release(this.#body);
    } catch (error) {
      this.#body = undefined;
      // The service sends an interrupted chunk again completely.
      this.#decoder = new FrameDecoder();
      if (!this.cancelled) await this.#afterFailure(error);
    }
  }

  async #connect(): Promise<Pieces> {
    this.#connectedAt = Number.POSITIVE_INFINITY;
    const connection = (this.#connection ??= connectionTo(this.#config.url));
    const path = `${this.#path}?startIndex=${this.#nextIndex}`;
    const answer = await connection.reads.open({
      method: 'GET',
      path: connection.basePath + path,
      headers: { ...commonHeaders(this.#config), accept: CHUNKS },
      body: undefined,
      timeoutMs: 0, // a stream may be silent for hours without a fault
      signal: this.#abort.signal,
    });
    const contentType = String(answer.headers['content-type'] ?? '');
    if (answer.status !== 200 || !contentType.startsWith(CHUNKS)) {
      throw await this.#refusal(answer, contentType, serviceUrl(this.#config, path));
    }
    const start = Number(answer.headers['x-stream-start'] ?? Number.NaN);
    if (Number.isSafeInteger(start) && start >= 0) this.#nextIndex = start;
    this.#connectedAt = Date.now();
    return new Pieces(answer.body);
  }

  /** Reads a body after the end frame to its end, so that its connection can be reused and blocks no other read. */
  #release(body: Pieces): void {
    const timer = setTimeout(() => this.#abort.abort(), LINGER_MS);
    const drain = async () => {
      while ((await body.next()) !== undefined);
    };
    const done = () => clearTimeout(timer);
    drain().then(done, done);
  }

  async #refusal(answer: Answer, contentType: string, url: string): Promise<Error> {
    const { status } = answer;
    const wire = decodeBody(await readAll(answer.body), contentType);
    if (status >= 200 && status < 300) {
      return new WorkflowWorldError(`${url} answered with something that is not a stream of world-redis`, {
        status: 502,
        url,
      });
    }
    const retryAfter = retryAfterSeconds(answer.headers['retry-after']);
    const error = errorFromWire((wire as { error?: WireError } | undefined)?.error, { status, url, retryAfter });
    return new Refused(error, status >= 500 || status === 429, (retryAfter ?? 0) * 1000);
  }

  /** Waits before the next connection, or throws if a further one is useless. */
  async #afterFailure(failure: unknown): Promise<void> {
    const now = Date.now();
    if (now - this.#connectedAt > GOOD_CONNECTION_MS) this.#failures = 0;
    if (this.#failures === 0) this.#failingSince = now;
    const url = serviceUrl(this.#config, this.#path);
    const error = failure instanceof Refused ? failure.error : transportError(failure, url);
    const passing = failure instanceof Refused ? failure.passing : !(failure instanceof WorkflowWorldError);
    if (!passing || this.#closed || now - this.#failingSince > GIVE_UP_AFTER_MS) throw error;
    const pause = Math.max(pauseBefore(this.#failures++), failure instanceof Refused ? failure.waitMs : 0);
    await pauseFor(pause, this.#abort.signal);
    if (this.#closed) throw error;
  }
}

/** An error answer, with its meaning for the read. */
class Refused extends Error {
  constructor(
    readonly error: Error,
    /** Whether the same request may succeed later. */
    readonly passing: boolean,
    readonly waitMs: number,
  ) {
    super(error.message);
  }
}
