import type { Agent, IncomingMessage } from 'node:http';
import type { Agent as SecureAgent } from 'node:https';

/** One HTTP request with its whole body. */
export interface Outgoing {
  method: string;
  /** Path and query, already percent-encoded. */
  path: string;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
  /** How long the connection may be silent, in milliseconds; 0 means for ever. */
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** An answer whose body is not read yet. */
export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: IncomingMessage;
}

/** An answer that was read completely. */
export interface Incoming {
  status: number;
  headers: IncomingMessage['headers'];
  body: Uint8Array;
}

// Node's own client and not undici: from 7.28 on, undici waits for a timer before it uses an idle socket again, which
// adds a millisecond to every call.

const CONNECT_TIMEOUT_MS = 5_000;
/** Shorter than the service's own limit for idle connections, so that the service rarely closes one first. */
const IDLE_MS = 30_000;

/** Keeps connections to one service and makes requests on them. */
export class Exchange {
  readonly #origin: URL;
  readonly #agent: Agent | SecureAgent;
  readonly #http: typeof import('node:http') | typeof import('node:https');
  #open = 0;
  #idle: (() => void) | undefined;

  /** `connections` is their largest number; further requests wait for a free one. */
  constructor(origin: string, connections: number) {
    this.#origin = new URL(origin);
    // Loaded here and not at import, so that building an app does not load it.
    const secure = this.#origin.protocol === 'https:';
    this.#http = secure ? (require('node:https') as typeof import('node:https')) : (require('node:http') as typeof import('node:http'));
    const options = { keepAlive: true, maxSockets: connections, maxFreeSockets: 64, timeout: IDLE_MS, scheduling: 'lifo' as const };
    this.#agent = new this.#http.Agent(options);
  }

  /** Makes a request. It is rejected if there is no complete answer, for whatever reason. */
  async request(outgoing: Outgoing): Promise<Incoming> {
    this.#open++;
    try {
      const { body, ...answer } = await this.open(outgoing);
      return { ...answer, body: await readAll(body) };
    } finally {
      if (--this.#open === 0) this.#idle?.();
    }
  }

  /** Makes a request and returns as soon as its answer begins. */
  open({ method, path, headers, body, timeoutMs, signal }: Outgoing): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = this.#http.request({
        agent: this.#agent as Agent,
        protocol: this.#origin.protocol,
        hostname: this.#origin.hostname.replace(/^\[|\]$/g, ''), // an IPv6 address has brackets only in a URL
        port: this.#origin.port,
        method,
        path,
        headers: body === undefined ? headers : { ...headers, 'content-length': String(body.byteLength) },
        timeout: timeoutMs,
        ...(signal && { signal }),
      });
      let answer: IncomingMessage | undefined;
      request.on('response', (body) => {
        answer = body;
        resolve({ status: body.statusCode ?? 0, headers: body.headers, body });
      });
      // For a request that already has an answer, Node would only report that it was aborted.
      request.on('timeout', () => (answer ?? request).destroy(withCode('ETIMEDOUT', 'no answer')));
      request.on('error', reject);
      request.on('socket', (socket) => {
        if (!socket.connecting) return;
        const timer = setTimeout(() => request.destroy(withCode('ECONNTIMEOUT', 'connecting takes too long')), CONNECT_TIMEOUT_MS);
        const stop = () => clearTimeout(timer);
        socket.once('connect', stop).once('close', stop);
      });
      request.end(body);
    });
  }

  /** Ends every connection; those in use when they are done, or when the grace is over. */
  async close(graceMs: number): Promise<void> {
    if (this.#open > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        this.#idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#agent.destroy();
  }
}

/** Reads a body completely. */
export function readAll(body: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    body.on('data', (part: Buffer) => parts.push(part));
    body.on('end', () => resolve(joined(parts)));
    body.on('error', reject);
  });
}

/** The joined parts in their own memory: Node shares the memory of small answers among buffers. */
function joined(parts: Buffer[]): Uint8Array {
  let size = 0;
  for (const part of parts) size += part.byteLength;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
