/**
 * A proxy in front of the real service that sends every POST twice at once and answers with one of the two, keeps the
 * last POST of every run with both answers, and can send that very request once more: what a proxy or a client's retry
 * does when an answer is slow or lost.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { part } from './client.js';

const { decodeBody } = part<typeof import('../../dist/call.js')>('call');

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
        const runId = /^\/v1\/runs\/([^/]+)\/events$/.exec(request.url ?? '')?.[1];
        if (runId !== undefined && request.method === 'POST') recorder.#last.set(runId, exchange);
        response.writeHead(exchange.status, { 'content-type': contentType }).end(bytes);
      });
    });
    recorder.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    recorder.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return recorder;
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
