import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { createWorld } from './helpers/client.js';

const FLOW = '__wkf_workflow_';
const { createQueueHandler } = createWorld();
const handle = createQueueHandler(FLOW, async (message) => ({ timeoutSeconds: (message as { n: number }).n }));

/** What the server does with a request that came in, for the test that is running. */
let serve: (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;
const server = createServer((req, res) => void serve(req, res));
let port: number;
before(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  ({ port } = server.address() as AddressInfo);
});
after(() => server.close());

function headersOf(id: string): Record<string, string> {
  return { 'content-type': 'application/json', 'x-vqs-queue-name': `${FLOW}w`, 'x-vqs-message-id': id, 'x-vqs-message-attempt': '1' };
}

async function deliver(id: string, body: string): Promise<unknown> {
  const sent = request({ port, host: '127.0.0.1', method: 'POST', path: '/.well-known/workflow/v1/flow', headers: headersOf(id) });
  sent.end(body);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => sent.once('response', resolve).once('error', reject));
  return JSON.parse(Buffer.concat(await answer.toArray()).toString('utf8'));
}

/** A Request that makes its body's stream when it is asked for the body, as @hono/node-server's does. */
function lazy(req: IncomingMessage, asked: () => void = () => undefined): Request {
  const arrayBuffer = (): Promise<ArrayBuffer> => {
    asked();
    return new Response(Readable.toWeb(req) as ReadableStream).arrayBuffer();
  };
  return { headers: new Headers(req.headers as Record<string, string>), arrayBuffer } as unknown as Request;
}

async function reply(res: ServerResponse, response: Response): Promise<void> {
  res.writeHead(response.status, { 'content-type': 'application/json' }).end(await response.text());
}

function noted(): number {
  return (globalThis as unknown as Record<symbol, Map<string, unknown>>)[Symbol.for('@world-redis/client//arrived')]?.size ?? -1;
}

test('the untouched body of a delivery is read without its Request', async () => {
  serve = async (req, res) => reply(res, await handle(lazy(req, () => assert.fail('the Request was asked'))));
  for (const pad of [0, 100_000]) {
    assert.deepEqual(await deliver(`m_${pad}`, JSON.stringify({ n: 7, pad: 'x'.repeat(pad) })), { timeoutSeconds: 7 });
  }
});

test('a body that was turned into a stream is read from the Request', async () => {
  serve = async (req, res) => {
    Readable.toWeb(req); // what it gives is its owner's
    const made = new Request('http://app/', { method: 'POST', headers: headersOf('m_stream'), body: '{"n":8}' });
    await reply(res, await handle(made));
  };
  assert.deepEqual(await deliver('m_stream', '{"n":1}'), { timeoutSeconds: 8 });
});

test('a body that was read before is refused, and not treated as empty', async () => {
  serve = async (req, res) => {
    await req.toArray();
    await reply(res, await handle(lazy(req)));
  };
  assert.match(JSON.stringify(await deliver('m_read', '{"n":9}')), /The request body was gone before the handler could read it/);
});

test('two concurrent deliveries of one message have their own bodies', async () => {
  const here: [IncomingMessage, ServerResponse][] = [];
  serve = async (...one) => {
    here.push(one);
    if (here.length < 2) return;
    for (const [req, res] of here.reverse()) await reply(res, await handle(lazy(req)));
  };
  const answers = await Promise.all([deliver('m_twice', '{"n":1}'), deliver('m_twice', '{"n":2}')]);
  assert.deepEqual(answers, [{ timeoutSeconds: 1 }, { timeoutSeconds: 2 }]);
});

test('a stream that is made of the body while it is read does not stop it', async () => {
  serve = async (req, res) => {
    const handled = handle(lazy(req));
    Readable.toWeb(req);
    await reply(res, await handled);
  };
  assert.deepEqual(await deliver('m_late', JSON.stringify({ n: 3, pad: 'x'.repeat(3_000_000) })), { timeoutSeconds: 3 });
});

test('an incomplete body is not a message', async () => {
  const handled = new Promise<Response>((resolve) => {
    serve = async (req) => resolve(await handle(lazy(req)));
  });
  const socket = connect(port, '127.0.0.1');
  const headers = Object.entries({ ...headersOf('m_broken'), host: 'app', 'content-length': '100' });
  socket.end(`POST / HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n{"n":1`);
  const response = await handled;
  assert.equal(response.status, 500);
  assert.match(await response.text(), /The request body was gone before the handler could read it/);
});

test('nothing is kept of finished deliveries', async () => {
  serve = async (req, res) => reply(res, await handle(lazy(req)));
  await deliver('m_last', '{"n":1}');
  while (noted() > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(noted(), 0);
});
