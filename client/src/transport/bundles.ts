import { CBOR, decodeEnvelope, encode } from '../wire/encoding.js';
import type { CallSockets } from './callSocket.js';
import type { Exchange, Incoming, Outgoing } from './exchange.js';

/**
 * The calls that the service accepts in a bundle: frequent calls with small requests and answers. A test of the
 * service (httpapi/internal/operations/table_test.go) generates both lines from its table, and fails if they differ.
 */
const POSTS = /^\/v1\/(events|runs\/[^/?]+\/events|queue)$/;
const GETS = /^\/v1\/(runs\/lost|runs\/[^/?]+|runs\/[^/?]+\/steps\/[^/?]+)(\?.*)?$/;
/**
 * The most calls in one bundle. With more, this process and the service would wait for each other in turn instead of
 * working in parallel.
 */
const MOST_CALLS = 32;
/** A larger body is sent separately: a bundle saves it nothing, and others would wait for it. */
const LARGEST_BODY = 32 * 1024;
/** Answers of a service that does not know bundles, or accepts none of this size; it has done nothing then. */
const NOT_THIS_WAY = new Set([400, 404, 405, 413, 415]);
/** How long such a service gets separate calls, in milliseconds. */
const ASK_AGAIN_AFTER_MS = 60_000;

/** An answer, with that of the call's `then`. It is no promise, although it has that name: its `then` is no function. */
export interface Answered extends Incoming {
  /** Absent if it was left out, or the service does not know `then`; nothing was done for it in that case. */
  then?: Incoming;
}

interface Waiting {
  outgoing: Outgoing;
  then: Outgoing | undefined;
  resolve(answer: Answered): void;
  reject(error: unknown): void;
}

/**
 * Sends concurrent calls together, each with its own answer: over a socket if there is one, otherwise in a request.
 * Without a socket, a call that is alone in its turn is a plain request.
 */
export class Bundles {
  readonly #exchange: Exchange;
  readonly #sockets: CallSockets | undefined;
  readonly #path: string;
  readonly #basePath: string;
  #waiting: Waiting[] = [];
  #aloneUntil: number;

  /** `basePath` is that of the service's URL, without a trailing slash. Without `together`, each call is a plain request. */
  constructor(exchange: Exchange, sockets: CallSockets | undefined, basePath: string, together = true) {
    this.#aloneUntil = together ? 0 : Number.POSITIVE_INFINITY;
    this.#exchange = exchange;
    this.#sockets = sockets;
    this.#basePath = basePath;
    this.#path = `${basePath}/v1/calls`;
  }

  /** `then` is a call to make in the same request once the first has succeeded; it is left out if it cannot or need not be sent with it. */
  request(outgoing: Outgoing, then?: Outgoing): Promise<Answered> {
    if (!this.#fits(outgoing)) return this.#exchange.request(outgoing);
    const fitting = then && this.#fits(then) ? then : undefined;
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ outgoing, then: fitting, resolve, reject }) === 1) this.#soon(outgoing);
    });
  }

  /**
   * Sends once the current code has run. A socket delivers the answers of a bundle together, so the calls that follow
   * from them are made by the end of the callback. Separate requests deliver them one by one, so calls wait for the
   * others of the turn.
   */
  #soon({ headers }: Outgoing): void {
    const flush = () => this.#flush();
    if (this.#sockets?.isOpen(headers['authorization'])) process.nextTick(flush);
    else setImmediate(flush);
  }

  #fits({ method, path, headers, body, signal }: Outgoing): boolean {
    if (signal !== undefined || !path.startsWith(this.#basePath)) return false;
    const tail = path.slice(this.#basePath.length);
    if (method === 'GET') return GETS.test(tail) && Date.now() >= this.#aloneUntil;
    if (body === undefined || body.byteLength > LARGEST_BODY || headers['content-type'] !== CBOR) return false;
    return POSTS.test(tail) && Date.now() >= this.#aloneUntil;
  }

  #flush(): void {
    // Grouped by token: a bundle is authorised as a whole.
    const ofToken = new Map<string | undefined, Waiting[]>();
    for (const one of this.#waiting) {
      const { authorization } = one.outgoing.headers;
      const same = ofToken.get(authorization);
      if (same) same.push(one);
      else ofToken.set(authorization, [one]);
    }
    this.#waiting = [];
    for (const same of ofToken.values()) {
      leaveOutShared(same);
      for (const some of portions(same)) {
        void this.#together(some);
      }
    }
  }

  #alone({ outgoing, resolve, reject }: Waiting): void {
    this.#exchange.request(outgoing).then(resolve, reject);
  }

  async #together(calls: Waiting[]): Promise<void> {
    const [first] = calls as [Waiting];
    const { headers, timeoutMs } = first.outgoing;
    const socket = this.#sockets?.of(headers['authorization']);
    if (!socket && calls.length === 1 && !first.then) return this.#alone(first);
    const partOf = ({ path, headers: { 'idempotency-key': key }, body }: Outgoing) => ({ path: path.slice(this.#basePath.length), key, body });
    // A service that does not know `then` ignores it, makes the first call and returns no answer to the second.
    const body = encode({
      calls: calls.map(({ outgoing, then }) => ({ ...partOf(outgoing), ...(then && { then: partOf(then) }) })),
    });
    try {
      const whole = await (socket ? socket.request(body, timeoutMs) : this.#post(body, headers, timeoutMs));
      if (NOT_THIS_WAY.has(whole.status)) {
        if (whole.status !== 413) this.#aloneUntil = Date.now() + ASK_AGAIN_AFTER_MS;
        for (const one of calls) this.#alone(one);
        return;
      }
      const answers = whole.status === 200 ? answersOf(whole, calls.length) : undefined;
      const instead = whole.status === 200 ? { ...whole, status: 502, body: new Uint8Array() } : whole;
      calls.forEach((one, i) => one.resolve(answers?.[i] ?? instead));
    } catch (error) {
      for (const one of calls) one.reject(error);
    }
  }

  #post(body: Uint8Array, { 'idempotency-key': _key, ...own }: Record<string, string>, timeoutMs: number): Promise<Incoming> {
    const headers = { ...own, 'content-type': CBOR };
    return this.#exchange.request({ method: 'POST', path: this.#path, headers, body, timeoutMs, signal: undefined });
  }
}

/**
 * If several calls of one turn with the same path have a `then`, all of these are left out: the calls share a round
 * trip, so nothing would be saved, and they could interfere with each other.
 */
function leaveOutShared(calls: Waiting[]): void {
  const first = new Map<string, Waiting>();
  for (const one of calls) {
    if (!one.then) continue;
    const other = first.get(one.outgoing.path);
    if (other) one.then = other.then = undefined;
    else first.set(one.outgoing.path, one);
  }
}

/** Parts of at most {@link MOST_CALLS} calls; a call and its `then` count as two and stay together. */
function portions(calls: Waiting[]): Waiting[][] {
  const parts: Waiting[][] = [];
  let room = 0;
  for (const one of calls) {
    const size = one.then ? 2 : 1;
    if (size > room) {
      parts.push([]);
      room = MOST_CALLS;
    }
    parts.at(-1)?.push(one);
    room -= size;
  }
  return parts;
}

interface Answer {
  status: number;
  body?: Uint8Array;
  retryAfter?: string;
  then?: Answer;
}

/** The answers of a bundle; undefined if the whole is not one. Each call then treats it as a bad gateway. */
function answersOf({ body }: Incoming, count: number): Answered[] | undefined {
  let answers: Answer[] | undefined;
  try {
    answers = (decodeEnvelope(body) as { answers?: Answer[] } | null)?.answers;
  } catch {
    // Reported below.
  }
  if (!Array.isArray(answers) || answers.length !== count) return undefined;
  return answers.map((answer) => {
    const { then } = (answer ?? {}) as Partial<Answer>;
    return { ...incomingOf(answer), ...(then && { then: incomingOf(then) }) };
  });
}

/** The answer to one call. If it is invalid, that call gets a bad gateway, and the others keep theirs. */
function incomingOf(answer: Answer | null | undefined): Incoming {
  const { status, body = new Uint8Array(), retryAfter } = (answer ?? {}) as Partial<Answer>;
  if (!Number.isInteger(status) || !(body instanceof Uint8Array)) return { status: 502, headers: {}, body: new Uint8Array() };
  return {
    status: status as number,
    headers: { 'content-type': CBOR, ...(typeof retryAfter === 'string' && { 'retry-after': retryAfter }) },
    body,
  };
}
