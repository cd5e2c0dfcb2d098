/**
 * A proxy in front of the real service that sends every POST twice at once and answers with one of the two, keeps the
 * last event of every run with both answers, also of one that came in a bundle, and can send that very call once more, by itself: what a proxy or a client's retry
 * does when an answer is slow or lost.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { part } from './client.js';

const { decodeBody } = part<typeof import('../../build/transport/call.js')>('transport/call');
const { CBOR } = part<typeof import('../../build/wire/encoding.js')>('wire/encoding');

const EVENTS = /^\/v1\/runs\/([^/]+)\/events$/;

/** An answer, decoded but not yet made the SDK's. */
export interface Answered {
  status: number;
  answer: any;
}

export interface Exchange extends Answered {
  /** What the request got that was sent at the same time. */
  twin?: Answered;
  /** Sends the same request, with the same Idempotency-Key, again. */
  again: () => Promise<Exchange>;
}

export class Recorder {
  url = '';
  readonly #last = new Map<string, Exchange>();
  #server: Server | undefined;

  static async start(serviceUrl: string): Promise<Recorder> {
    const recorder = new Recorder();
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (data: Buffer) => parts.push(data));
      request.on('end', async () => {
        const passed = ['content-type', 'accept', 'idempotency-key'] as const;
        const headers = passed.flatMap((name) => (request.headers[name] ? [[name, request.headers[name]] as [string, string]] : []));
        const body = request.method === 'POST' ? { body: Buffer.concat(parts) } : {};
        const send = () => fetch(serviceUrl + request.url, { method: request.method ?? 'GET', headers, ...body });
        const again = async (): Promise<Exchange> => exchangeOf(await send(), again).then(({ exchange }) => exchange);
        const twin = request.method === 'POST' ? send() : undefined;
        const { exchange, bytes, contentType } = await exchangeOf(await send(), again);
        if (twin) exchange.twin = (await exchangeOf(await twin, again)).exchange;
        if (request.url === '/v1/calls') recorder.#keepBundle(serviceUrl, Buffer.concat(parts), exchange);
        const runId = EVENTS.exec(request.url ?? '')?.[1];
        if (runId !== undefined && request.method === 'POST') recorder.#last.set(runId, exchange);
        response.writeHead(exchange.status, { 'content-type': contentType }).end(bytes);
      });
    });
    // It looks into requests, so what it is in front of must not speak anything else.
    server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n'));
    recorder.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    recorder.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return recorder;
  }

  /** Keeps the calls of a bundle one by one. */
  #keepBundle(serviceUrl: string, body: Uint8Array, { answer, twin }: Exchange): void {
    const { calls } = decodeBody(body, CBOR) as { calls: { path: string; key: string; body?: Uint8Array }[] };
    calls.forEach((call, i) => {
      const runId = EVENTS.exec(call.path)?.[1];
      if (runId === undefined || call.body === undefined) return;
      const headers = { 'content-type': CBOR, accept: CBOR, 'idempotency-key': call.key };
      const again = async (): Promise<Exchange> => {
        const response = await fetch(serviceUrl + call.path, { method: 'POST', headers, body: call.body as Uint8Array<ArrayBuffer> });
        return (await exchangeOf(response, again)).exchange;
      };
      const one = answerIn(answer, i);
      this.#last.set(runId, { ...one, again, ...(twin && { twin: answerIn(twin.answer, i) }) });
    });
  }

  /** The last event that was sent to this run. */
  last(runId: string): Exchange {
    const exchange = this.#last.get(runId);
    if (!exchange) throw new Error(`nothing was sent to ${runId}`);
    return exchange;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }
}

async function exchangeOf(answer: Response, again: () => Promise<Exchange>) {
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const contentType = answer.headers.get('content-type') ?? '';
  const exchange: Exchange = { status: answer.status, answer: decodeBody(bytes, contentType), again };
  return { exchange, bytes, contentType };
}

function answerIn(bundle: any, i: number): Answered {
  const { status, body } = bundle.answers[i] as { status: number; body: Uint8Array };
  return { status, answer: decodeBody(body, CBOR) };
}
