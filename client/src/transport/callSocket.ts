import type { IncomingMessage } from 'node:http';
import type { RawData, WebSocket } from 'ws';
import { CBOR } from '../wire/encoding.js';
import type { Incoming } from './exchange.js';

/** The format of a socket's messages: docs/protocol.md, "Bundles over a WebSocket". */
const PROTOCOL = 'world-redis.calls.1';
/** A process with fewer bundles than these, such as a command line, ends before a socket is worth it. */
const BUNDLES_BEFORE = 8;
const OPEN_TIMEOUT_MS = 5_000;
/** How long after a failed attempt a socket is opened again: after no answer, and after a refusal. */
const FAILED_MS = 1_000;
const REFUSED_MS = 60_000;
/** How long one socket is used, so that a process does not stay with one of several services; up to a fifth less. */
const LIFE_MS = 10 * 60_000;
const RETIRE = 'retire';
const ID_BYTES = 4;
const HEADER_BYTES = ID_BYTES + 2;

/**
 * Loads the module that opens sockets. It is loaded here and not at import, so that building an app does not load it,
 * which takes 20 ms and more. A serving app loads it before its first calls.
 */
export function loadSockets(): typeof import('ws') {
  return require('ws') as typeof import('ws');
}

/** WebSockets to one service, one for each token; they carry bundles. */
export class CallSockets {
  readonly #url: string;
  readonly #ofToken = new Map<string | undefined, CallSocket>();

  /** `url` is that of `/v1/calls`, with http or https. */
  constructor(url: string) {
    this.#url = url.replace(/^http/, 'ws');
  }

  /** The open socket of a token. If there is none, it returns undefined, and the socket is opened after several calls. */
  of(authorization: string | undefined): Line | undefined {
    let socket = this.#ofToken.get(authorization);
    if (!socket) this.#ofToken.set(authorization, (socket = new CallSocket(this.#url, authorization)));
    return socket.ready();
  }

  /** Whether {@link of} would find one. */
  isOpen(authorization: string | undefined): boolean {
    return this.#ofToken.get(authorization)?.usable ?? false;
  }

  /** Ends all sockets. Sockets with calls in progress end once they are answered, or when the grace is over. */
  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#ofToken.values()].map((socket) => socket.close(graceMs)));
  }
}

/** The one socket of a token, opened at use and again after it has ended. */
class CallSocket {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #line: Line | undefined;
  #asked = 0;
  #opening: WebSocket | undefined;
  #notBefore = 0;
  #closed = false;

  constructor(url: string, authorization: string | undefined) {
    this.#url = url;
    this.#headers = authorization === undefined ? {} : { authorization };
  }

  get usable(): boolean {
    return this.#line?.usable ?? false;
  }

  /** The open line. If there is none, one is opened for later calls. */
  ready(): Line | undefined {
    if (this.#line?.usable) return this.#line;
    if (++this.#asked > BUNDLES_BEFORE && !this.#opening && !this.#closed && Date.now() >= this.#notBefore) this.#open();
    return undefined;
  }

  #open(): void {
    const { WebSocket } = loadSockets();
    const socket = new WebSocket(this.#url, [PROTOCOL], {
      headers: this.#headers,
      handshakeTimeout: OPEN_TIMEOUT_MS,
      perMessageDeflate: false,
      maxPayload: 0,
      // The process may end without waiting for it.
      finishRequest: (request) => {
        request.on('socket', (under) => under.unref());
        request.end();
      },
    });
    this.#opening = socket;
    const failed = (waitMs: number) => {
      this.#opening = undefined;
      this.#notBefore = Date.now() + waitMs;
    };
    let under: IncomingMessage['socket'];
    socket.on('upgrade', (answer) => (under = answer.socket));
    socket.on('unexpected-response', (request, answer) => {
      answer.resume();
      request.destroy();
      failed(answer.statusCode === 503 ? FAILED_MS : REFUSED_MS);
    });
    socket.on('open', () => {
      if (this.#closed) return socket.terminate();
      this.#opening = undefined;
      // If it stays silent, an intermediary may accept WebSockets without forwarding their messages.
      this.#line = new Line(socket, under, () => failed(REFUSED_MS));
    });
    socket.on('error', () => undefined); // "close" follows
    socket.on('close', () => {
      if (this.#opening === socket) failed(FAILED_MS);
    });
  }

  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    this.#opening?.terminate();
    await this.#line?.close(graceMs);
  }
}

interface Waiting {
  resolve(answer: Incoming): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/** An open socket. */
export class Line {
  readonly #socket: WebSocket;
  readonly #under: IncomingMessage['socket'];
  readonly #silent: () => void;
  readonly #until = Date.now() + LIFE_MS * (0.8 + 0.2 * Math.random());
  readonly #waiting = new Map<number, Waiting>();
  #count = 0;
  #retired = false;

  /** `silent` is called when the socket is given up because an answer was late or invalid. */
  constructor(socket: WebSocket, under: IncomingMessage['socket'], silent: () => void) {
    this.#socket = socket;
    this.#under = under;
    this.#silent = silent;
    socket.on('message', (data: RawData, binary: boolean) => {
      const bytes = data as Buffer; // the default of ws
      if (binary) this.#answered(bytes);
      else if (bytes.toString() === RETIRE) this.retire();
    });
    socket.on('close', () => this.#end(withCode('ECONNRESET', 'the connection ended')));
  }

  /** Whether it accepts calls. */
  get usable(): boolean {
    if (!this.#retired && Date.now() > this.#until) this.retire();
    return !this.#retired && this.#socket.readyState === this.#socket.OPEN;
  }

  /** Sends the body of a `POST /v1/calls` and returns its answer. It is rejected if there is none, for whatever reason. */
  request(body: Uint8Array, timeoutMs: number): Promise<Incoming> {
    const id = (this.#count = (this.#count + 1) >>> 0);
    const message = Buffer.allocUnsafe(ID_BYTES + body.byteLength);
    message.writeUInt32BE(id, 0);
    message.set(body, ID_BYTES);
    return new Promise((resolve, reject) => {
      // A late answer ends the whole line: whatever the cause, the other calls wait, too.
      const timer = setTimeout(() => {
        this.#silent();
        this.#end(withCode('ETIMEDOUT', 'no answer'));
      }, timeoutMs);
      // The process stays alive while there are answers to wait for.
      if (this.#waiting.size === 0) this.#under.ref();
      this.#waiting.set(id, { resolve, reject, timer });
      this.#socket.send(message);
    });
  }

  #answered(bytes: Buffer): void {
    if (bytes.byteLength < HEADER_BYTES) {
      // Not an answer of the service, so the other end cannot be trusted with the other calls either.
      this.#silent();
      this.#end(withCode('ECONNRESET', `a message of ${bytes.byteLength} bytes is not an answer`));
      return;
    }
    const id = bytes.readUInt32BE(0);
    const one = this.#waiting.get(id);
    if (!one) return;
    this.#waiting.delete(id);
    clearTimeout(one.timer);
    one.resolve({ status: bytes.readUInt16BE(ID_BYTES), headers: { 'content-type': CBOR }, body: bytes.subarray(HEADER_BYTES) });
    this.#rest();
  }

  #rest(): void {
    if (this.#waiting.size > 0) return;
    this.#under.unref();
    if (this.#retired) this.#socket.close(1000);
  }

  /** Accepts no more calls, and ends when its calls are answered. */
  retire(): void {
    this.#retired = true;
    this.#rest();
  }

  /** The same, but it ends when the grace is over at the latest. */
  async close(graceMs: number): Promise<void> {
    const ended = new Promise((resolve) => this.#socket.once('close', resolve));
    this.retire();
    if (this.#socket.readyState === this.#socket.CLOSED) return;
    const timer = setTimeout(() => this.#socket.terminate(), graceMs);
    await ended;
    clearTimeout(timer);
  }

  #end(error: Error): void {
    this.#retired = true;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#waiting.clear();
    this.#socket.terminate();
  }
}

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
