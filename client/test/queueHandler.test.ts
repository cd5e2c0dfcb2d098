import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWorld, part } from './helpers/client.js';

const { encode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const FLOW = '__wkf_workflow_';
const STEP = '__wkf_step_';

interface Received {
  message: unknown;
  attempt: number;
  queueName: string;
  messageId: string;
}

function handlerFor(prefix: string, result?: unknown): { received: Received[]; handle: (r: Request) => Promise<Response> } {
  const received: Received[] = [];
  const { createQueueHandler } = createWorld();
  const handle = createQueueHandler(prefix, async (message, meta) => {
    received.push({ message, ...meta });
    if (result instanceof Error) throw result;
    return result;
  });
  return { received, handle };
}

function delivery(queueName: string, body: Uint8Array | string, headers: Record<string, string> = {}): Request {
  const named = {
    'content-type': 'application/cbor',
    'x-vqs-queue-name': queueName,
    'x-vqs-message-id': 'msg_1',
    'x-vqs-message-attempt': '2',
    ...headers,
  };
  return new Request('http://app/.well-known/workflow/v1/flow', { method: 'POST', headers: named, body });
}

async function replyOf(response: Response): Promise<[number, unknown]> {
  return [response.status, await response.json()];
}

test('a CBOR message reaches the handler with its bytes, dates and delivery facts', async () => {
  const { received, handle } = handlerFor(FLOW);
  const message = { runId: 'r', requestedAt: new Date(1700000000123), runInput: { input: new Uint8Array([1]) } };
  assert.deepEqual(await replyOf(await handle(delivery(`${FLOW}a//b`, encode(message)))), [200, { ok: true }]);
  assert.deepEqual(received, [{ message, attempt: 2, queueName: `${FLOW}a//b`, messageId: 'msg_1' }]);
});

test('a JSON message reaches the handler with its bytes', async () => {
  const { received, handle } = handlerFor(FLOW);
  const body = '{"runId":"r","input":{"__type":"Uint8Array","data":"AQID"}}';
  const response = await handle(delivery(`${FLOW}w`, body, { 'content-type': 'application/json' }));
  assert.equal(response.status, 200);
  assert.deepEqual(received[0]?.message, { runId: 'r', input: new Uint8Array([1, 2, 3]) });
});

test('a handler that wants the message again says when, and zero is a time like any other', async () => {
  for (const timeoutSeconds of [0, 2592000, 0.5]) {
    const { handle } = handlerFor(FLOW, { timeoutSeconds });
    assert.deepEqual(await replyOf(await handle(delivery(`${FLOW}w`, encode({})))), [200, { timeoutSeconds }]);
  }
});

test('a handler that the service had no memory for has its message come again, uncharged', async () => {
  const over = Object.assign(new Error('too much now'), { name: 'ThrottleError', code: 'over_budget', retryAfter: 3 });
  for (const error of [over, new Error('the SDK failed', { cause: over })]) {
    const { handle } = handlerFor(FLOW, error);
    const [status, body] = await replyOf(await handle(delivery(`${FLOW}w`, encode({}))));
    assert.equal(status, 200);
    const { timeoutSeconds } = body as { timeoutSeconds: number };
    assert.ok(timeoutSeconds >= 3 && timeoutSeconds <= 6, String(timeoutSeconds));
  }
});

test('a handler that throws answers 500 with the reason, so that the message comes again', async () => {
  const { handle } = handlerFor(FLOW, new RangeError('boom'));
  assert.deepEqual(await replyOf(await handle(delivery(`${FLOW}w`, encode({})))), [500, { error: 'RangeError: boom' }]);
});

test('a handler that could not write a value for its size says so, however deep the SDK has wrapped the refusal', async () => {
  const refused = { code: 'too_large', message: 'the body has 9 bytes, the limit is 8' };
  const refusal = Object.assign(new Error(refused.message), { name: 'WorkflowWorldError', status: 413, code: 'too_large' });
  const looped = new Error('looped');
  looped.cause = looped;
  const cases: [Error, object][] = [
    [refusal, { refused }],
    [new Error('outer', { cause: new Error('inner', { cause: refusal }) }), { refused }],
    [Object.assign(new Error('of a proxy'), { status: 413 }), {}],
    [Object.assign(new Error('of another call'), { status: 400, code: 'invalid' }), {}],
    [looped, {}],
  ];
  for (const [error, more] of cases) {
    const { handle } = handlerFor(FLOW, error);
    const reply = await replyOf(await handle(delivery(`${FLOW}w`, encode({}))));
    assert.deepEqual(reply, [500, { error: `${error.name}: ${error.message}`, ...more }]);
  }
});

test("every answer says that it is the client's, so that the service knows it from one of a proxy", async () => {
  const bodies = [encode({}), new Uint8Array(0)];
  for (const result of [undefined, { timeoutSeconds: 1 }, new Error('boom')]) {
    for (const body of bodies) {
      const response = await handlerFor(FLOW, result).handle(delivery(`${FLOW}w`, body));
      assert.equal(response.headers.get('x-world-redis-client'), '1', String(response.status));
    }
  }
});

test('what is not a message for this handler is refused without calling it', async () => {
  const { received, handle } = handlerFor(FLOW);
  const cases: [Request, string][] = [
    [delivery('', encode({})), 'Missing required headers'],
    [delivery(`${FLOW}w`, encode({}), { 'x-vqs-message-id': '' }), 'Missing required headers'],
    [delivery(`${FLOW}w`, encode({}), { 'x-vqs-message-attempt': '0' }), 'Missing required headers'],
    [delivery(`${FLOW}w`, encode({}), { 'x-vqs-message-attempt': 'x' }), 'Missing required headers'],
    [delivery(`${STEP}w`, encode({})), 'Unhandled queue'],
    [delivery('__other_wkf_workflow_w', encode({})), 'Unhandled queue'],
    [delivery(FLOW, encode({})), 'Unhandled queue'],
    [delivery(`${FLOW}w`, new Uint8Array(0)), 'Missing request body'],
  ];
  for (const [request, error] of cases) assert.deepEqual(await replyOf(await handle(request)), [400, { error }]);
  const broken = await handle(delivery(`${FLOW}w`, '{', { 'content-type': 'application/json' }));
  assert.equal(broken.status, 400);
  assert.deepEqual(received, []);
});

test('a body that middleware has already read is explained', async () => {
  const { handle } = handlerFor(FLOW);
  const request = delivery(`${FLOW}w`, encode({}));
  await request.arrayBuffer();
  const [status, body] = await replyOf(await handle(request));
  assert.equal(status, 500);
  assert.match((body as { error: string }).error, /Keep middleware and proxies away/);
});

test('with a namespace, v4 still sends steps without it: the handler finds the step name behind its own prefix', async () => {
  const prefix = '__shop_wkf_step_';
  const { received, handle } = handlerFor(prefix);
  await handle(delivery('__wkf_step_step//./a.ts//add', encode({})));
  await handle(delivery('__shop_wkf_step_health_check', encode({})));
  assert.deepEqual(
    received.map(({ queueName }) => queueName.slice(prefix.length)),
    ['step//./a.ts//add', 'health_check'],
  );
  assert.equal((await handle(delivery('__wkf_workflow_w', encode({})))).status, 400);
  assert.equal((await handle(delivery('__toys_wkf_step_x', encode({})))).status, 400);
});

test('a workflow name beyond ASCII survives the header, percent-encoded or as raw UTF-8', async () => {
  const { received, handle } = handlerFor(FLOW);
  const name = `${FLOW}workflow//./größe 100%.ts//æøå`;
  await handle(delivery(`${FLOW}workflow//./gr%C3%B6%C3%9Fe 100%25.ts//%C3%A6%C3%B8%C3%A5`, encode({})));
  await handle(delivery(Buffer.from(name.replace('%', ''), 'utf8').toString('latin1'), encode({})));
  await handle(delivery(`${FLOW}100% plain`, encode({})));
  assert.deepEqual(
    received.map(({ queueName }) => queueName),
    [name, name.replace('%', ''), `${FLOW}100% plain`],
  );
});
