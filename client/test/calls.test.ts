import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createWorld, part } from './helpers/client.js';
import { type Answer, drop, Fake, json } from './helpers/fake.js';

const { decode, encode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const fakes: Fake[] = [];
after(async () => {
  for (const fake of fakes) {
    await createWorld({ url: fake.url }).close();
    await fake.stop();
  }
});

async function fakeWorld(options: Parameters<typeof createWorld>[0] = {}) {
  const fake = await Fake.start(json(200, {}));
  fakes.push(fake);
  return { fake, world: createWorld({ url: fake.url, ...options }) };
}

const runStarted = { eventType: 'run_started', specVersion: 3 };

test('a dropped connection and a 503 are retried, and every try has the same idempotency key', async () => {
  const { fake, world } = await fakeWorld();
  const unavailable = json(503, { error: { name: 'WorkflowWorldError', code: 'unavailable' } }, { 'retry-after': '0' });
  fake.next(drop, unavailable, drop, json(200, { run: { runId: 'r' } }));
  assert.deepEqual(await world.events.create('r', runStarted), { run: { runId: 'r' } });
  const keys = fake.seen.map(({ headers }) => headers['idempotency-key']);
  assert.equal(keys.length, 4);
  assert.equal(new Set(keys).size, 1);
  assert.match(String(keys[0]), /^[\w-]{24,60}$/);

  await world.events.create('r', runStarted);
  assert.notEqual(fake.seen[4]?.headers['idempotency-key'], keys[0]);
});

test('a refusal is final: no 4xx and no 500 is ever repeated', async () => {
  const { fake, world } = await fakeWorld();
  for (const status of [400, 401, 404, 409, 410, 412, 413, 422, 425, 429, 500]) {
    fake.next(json(status, { error: { name: 'WorkflowWorldError', message: `no ${status}`, status } }));
    await assert.rejects(world.events.create('r', runStarted), { status, message: `no ${status}` });
  }
  assert.equal(fake.seen.length, 11);
});

test('a 413 from a proxy in front of the service names the proxy, the size and the setting to raise; it counts as too large', async () => {
  const { fake, world } = await fakeWorld();
  const page: Answer = (response) => void response.writeHead(413, { 'content-type': 'text/html' }).end('<html><h1>413 Request Entity Too Large</h1></html>');
  for (const answer of [page, json(413, { message: 'Request Too Long' }), json(413, { error: 'too long' })]) {
    fake.next(answer);
    await assert.rejects(world.events.create('r', runStarted), ({ name, status, code, message }: Error & { status: number; code: string }) => {
      assert.deepEqual([name, status, code], ['WorkflowWorldError', 413, 'too_large']);
      const sent = fake.seen.at(-1)?.body.length;
      const start = `${fake.url}/v1/runs/r/events answered 413, and not by world-redis: something between the app and the service refuses a body of ${sent} bytes. `;
      assert.ok(message.startsWith(start), message);
      assert.match(message, /client_max_body_size.*WORKFLOW_WORLD_MAX_BODY/);
      return true;
    });
  }
  assert.equal(fake.seen.length, 3);
});

test('a throttled call names the seconds to wait and is left to the SDK', async () => {
  const { fake, world } = await fakeWorld();
  fake.next(json(429, { error: { name: 'ThrottleError', message: 'slow down' } }, { 'retry-after': '3' }));
  await assert.rejects(world.runs.get('r'), { name: 'ThrottleError', retryAfter: 3 });
  assert.equal(fake.seen.length, 1);
});

test('a call for which the service has no memory is repeated, separately and with the same key, for as long as a call may take', async () => {
  const { fake, world } = await fakeWorld({ retryForMs: 0, timeoutMs: 20_000 });
  const over = json(429, { error: { name: 'ThrottleError', code: 'over_budget', message: 'too much now', retryAfter: 0.01 } });
  const refused = encode({ error: { name: 'ThrottleError', code: 'over_budget', message: 'too much now' } });
  const bundle: Answer = (response) => {
    const answer = { status: 429, body: refused, retryAfter: '1' };
    response.writeHead(200, { 'content-type': 'application/cbor' }).end(encode({ answers: [{ status: 200, body: encode({ runId: 'a' }) }, answer, answer] }));
  };
  fake.next(bundle, over, over, over, json(200, { runId: 'b' }), json(200, { runId: 'b' }));
  const runs = await Promise.all(['a', 'b', 'c'].map((id) => world.runs.get(id)));
  assert.deepEqual(
    runs.map(({ runId }) => runId),
    ['a', 'b', 'b'],
  );
  assert.equal(fake.seen.length, 6); // the bundle, and then each by itself
  assert.ok(fake.seen.slice(1).every(({ url }) => url.startsWith('/v1/runs/')));

  fake.next(over, over, json(200, { run: { runId: 'r' } }));
  await world.events.create('r', runStarted);
  const keys = fake.seen.slice(-3).map(({ headers }) => headers['idempotency-key']);
  assert.equal(new Set(keys).size, 1);
});

test('a call that finds no memory for too long ends with a ThrottleError', async () => {
  const { fake, world } = await fakeWorld({ retryForMs: 0, timeoutMs: 100 });
  const over = json(429, { error: { name: 'ThrottleError', code: 'over_budget', message: 'too much now', retryAfter: 0.01 } });
  fake.next(...Array.from({ length: 100 }, () => over));
  await assert.rejects(world.runs.get('r'), { name: 'ThrottleError', code: 'over_budget', message: 'too much now' });
  assert.ok(fake.seen.length > 1);
});

test('if the service stays unreachable, the error names the address and what to check', async () => {
  const { fake, world } = await fakeWorld({ retryForMs: 200 });
  await fake.stop();
  await assert.rejects(world.runs.get('wrun_1'), (error: Error & { code?: string }) => {
    assert.equal(error.name, 'WorkflowWorldError');
    assert.equal(error.code, 'TRANSPORT');
    assert.ok(error.message.startsWith(`${fake.url}/v1/runs/wrun_1 could not be reached`), error.message);
    assert.match(error.message, /Is world-redis running/);
    return true;
  });
});

test('a short absence of the service goes unnoticed', async () => {
  const { fake, world } = await fakeWorld();
  const port = Number(new URL(fake.url).port);
  await fake.stop();
  const answer = world.runs.get('r');
  const again = await Fake.start(json(200, { runId: 'r' }));
  fakes.push(again);
  await again.stop();
  await again.listen(port);
  assert.deepEqual(await answer, { runId: 'r' });
});

test('if the service is not ready for longer than the retries last, its own error is thrown', async () => {
  const { fake, world } = await fakeWorld();
  fake.next(json(503, { error: { name: 'WorkflowWorldError', code: 'unavailable', message: 'Redis is away' } }, { 'retry-after': '3600' }));
  await assert.rejects(world.runs.get('r'), { status: 503, code: 'unavailable', message: 'Redis is away', retryAfter: 3600 });
  assert.equal(fake.seen.length, 1);
});

test('a silent service is a TIMEOUT', async () => {
  const { fake, world } = await fakeWorld({ timeoutMs: 1, retryForMs: 0 });
  fake.next(() => undefined);
  await assert.rejects(world.runs.get('r'), { name: 'WorkflowWorldError', code: 'TIMEOUT' });
});

test('an answer that stops in the middle is a TIMEOUT, too', async () => {
  const { fake, world } = await fakeWorld({ timeoutMs: 50, retryForMs: 0 });
  fake.next((response) => {
    response.writeHead(200, { 'content-type': 'application/cbor', 'content-length': '100' });
    response.write('half');
  });
  await assert.rejects(world.runs.get('r'), { name: 'WorkflowWorldError', code: 'TIMEOUT' });
});

test('a 200 that is not from the service is a 502, which does not fail the run', async () => {
  const { fake, world } = await fakeWorld();
  fake.next((response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<h1>Welcome</h1>');
  });
  await assert.rejects(world.runs.get('r'), { name: 'WorkflowWorldError', status: 502 });
  fake.next((response) => {
    response.writeHead(200, { 'content-type': 'application/cbor' });
    response.end(Buffer.from([0xb9, 0x00]));
  });
  await assert.rejects(world.runs.get('r'), { name: 'WorkflowWorldError', status: 502 });
});

// Two and not one: a socket may count as busy for a moment longer than the caller waits for the answer.
test('sequential calls keep using the same two connections, concurrent ones open no more than the pool allows', async () => {
  const { fake, world } = await fakeWorld();
  for (let i = 0; i < 10; i++) await world.hooks.get('h');
  assert.ok(fake.opened <= 2, `${fake.opened} connections`);
  await Promise.all(Array.from({ length: 300 }, () => world.hooks.get('h'))); // of the calls that are never bundled
  assert.equal(fake.seen.length, 310);
  assert.ok(fake.opened <= 64, `${fake.opened} connections`);
});

test('two Worlds of one process share the connection', async () => {
  const { fake, world } = await fakeWorld();
  await world.runs.get('r');
  for (let i = 0; i < 10; i++) await createWorld({ url: fake.url }).runs.get('r');
  assert.ok(fake.opened <= 2, `${fake.opened} connections`);
});

test('events.create sends only parameters that the service knows', async () => {
  const { fake, world } = await fakeWorld({ token: 'secret' });
  const ms = 1700000000123;
  await world.events.create(
    'wrun/1',
    { eventType: 'wait_created', correlationId: 'w', specVersion: 3, eventData: { resumeAt: new Date(ms), x: undefined } },
    {
      resolveData: 'none',
      v1Compat: false,
      requestId: undefined,
      stateUpdatedAt: 5,
      occurredAt: new Date(ms),
      resumeId: 'res_1',
      replayEventObserver: () => undefined,
    },
  );
  const seen = fake.seen[0];
  assert.equal(seen?.method, 'POST');
  assert.equal(seen?.url, '/v1/runs/wrun%2F1/events');
  assert.equal(seen?.headers['content-type'], 'application/cbor');
  assert.equal(seen?.headers['accept'], 'application/cbor');
  assert.equal(seen?.headers['authorization'], 'Bearer secret');
  assert.deepEqual(decode(seen?.body ?? Buffer.alloc(0)), {
    event: { eventType: 'wait_created', correlationId: 'w', specVersion: 3, eventData: { resumeAt: ms }, resumeId: 'res_1' },
    params: { resolveData: 'none', v1Compat: false, occurredAt: ms },
  });
});

test('the service mints the id of a run that has none', async () => {
  const { fake, world } = await fakeWorld();
  await world.events.create(null, { eventType: 'run_created', eventData: { input: new Uint8Array([1]) } });
  assert.equal(fake.seen[0]?.url, '/v1/events');
});

test('lists carry their options in the query', async () => {
  const { fake, world } = await fakeWorld();
  const list = json(200, { data: [{ runId: 'r', createdAt: 5, output: null }], cursor: 'c', hasMore: false });
  fake.next(list, list, list, list, list, list, list);
  const page = await world.runs.list({
    workflowName: 'workflow//./a.ts//b c',
    status: ['pending', 'running'],
    pagination: { limit: 5, cursor: 'x|y', sortOrder: 'asc' },
    resolveData: 'none',
  });
  assert.deepEqual(page, { data: [{ runId: 'r', createdAt: new Date(5) }], cursor: 'c', hasMore: false });
  await world.runs.list();
  await world.runs.list({ status: [] });
  await world.steps.list({ runId: 'r', pagination: { limit: 1 } });
  await world.events.list({ runId: 'r', pagination: { sortOrder: 'asc', cursor: 'c' } });
  await world.events.listByCorrelationId({ correlationId: 's', runId: 'r' });
  await world.hooks.list({ runId: 'r' });
  assert.deepEqual(
    fake.seen.map(({ url }) => url),
    [
      '/v1/runs?workflowName=workflow%2F%2F.%2Fa.ts%2F%2Fb%20c&status=pending&status=running&resolveData=none&limit=5&cursor=x%7Cy&sortOrder=asc',
      '/v1/runs',
      '/v1/runs?status=',
      '/v1/runs/r/steps?limit=1',
      '/v1/runs/r/events?cursor=c&sortOrder=asc',
      '/v1/events?correlationId=s&runId=r',
      '/v1/hooks?runId=r',
    ],
  );
});

test('single entities are found by id and by token, for any token', async () => {
  const { fake, world } = await fakeWorld();
  await world.steps.get(undefined, 'step_1');
  await world.steps.get('r', 'step_1', { resolveData: 'none' });
  await world.events.get('r', 'evnt_1');
  await world.hooks.get('hook_1');
  await world.hooks.getByToken('a/b ü?\ud800', { resolveData: 'all' });
  assert.deepEqual(
    fake.seen.map(({ url }) => url),
    [
      '/v1/steps/step_1',
      '/v1/runs/r/steps/step_1?resolveData=none',
      '/v1/runs/r/events/evnt_1',
      '/v1/hooks/hook_1',
      '/v1/hooks/by-token?token=a%2Fb%20%C3%BC%3F%EF%BF%BD&resolveData=all',
    ],
  );
  await assert.rejects(world.runs.get(''), { name: 'WorkflowWorldError', status: 400 });
  assert.equal(fake.seen.length, 5);
});

test('an answer of events.create has Dates, no nulls, and belongs to the caller', async () => {
  const { fake, world } = await fakeWorld();
  const body = encode({
    event: { eventType: 'run_started', createdAt: 1, eventData: null },
    run: { runId: 'r', startedAt: 2, completedAt: null, input: new Uint8Array([1]) },
    events: [{ eventType: 'wait_created', createdAt: 1, eventData: { resumeAt: 3 } }],
    cursor: null,
    hook: null,
    hasMore: false,
  });
  fake.next((response) => {
    response.writeHead(200, { 'content-type': 'application/cbor' });
    response.end(body);
  });
  assert.deepEqual(await world.events.create('r', runStarted), {
    event: { eventType: 'run_started', createdAt: new Date(1) },
    run: { runId: 'r', startedAt: new Date(2), input: new Uint8Array([1]) },
    events: [{ eventType: 'wait_created', createdAt: new Date(1), eventData: { resumeAt: new Date(3) } }],
    cursor: null,
    hasMore: false,
  });
});

test('a service behind a path prefix is called there', async () => {
  const { fake } = await fakeWorld();
  await createWorld({ url: `${fake.url}/world/` }).runs.get('r');
  assert.equal(fake.seen[0]?.url, '/world/v1/runs/r');
  await createWorld({ url: `${fake.url}/world/` }).close();
});

test('a wrong address is an error of the call, not of createWorld', async () => {
  const world = createWorld({ url: 'localhost:8787' });
  await assert.rejects(world.runs.get('r'), /WORKFLOW_WORLD_URL is "localhost:8787"/);
});

test('after close() the next call opens the connection again', async () => {
  const { fake, world } = await fakeWorld();
  await world.runs.get('r');
  await world.close();
  await world.close();
  await world.runs.get('r');
  assert.equal(fake.opened, 2);
});

test('stream writes: one chunk is the body, several are frames, and a run id may be a promise', async () => {
  const { fake, world } = await fakeWorld();
  fake.next(json(200, { index: 0 }), json(200, { index: 1 }), json(200, { index: 2 }), json(200, {}));
  await world.writeToStream('strm_1/ü', Promise.resolve('wrun_1'), 'höi');
  await world.writeToStream('s', 'wrun_1', new Uint8Array(0));
  await world.writeToStreamMulti('s', 'wrun_1', ['a', new Uint8Array(0), Buffer.from('bc')]);
  await world.closeStream('s', 'wrun_1');
  const [single, empty, multi, close] = fake.seen;
  assert.equal(single?.url, '/v1/runs/wrun_1/streams/strm_1%2F%C3%BC');
  assert.equal(single?.headers['content-type'], 'application/octet-stream');
  assert.equal(single?.body.toString(), 'höi');
  assert.equal(empty?.headers['content-type'], 'application/octet-stream');
  assert.equal(empty?.body.length, 0);
  assert.equal(multi?.headers['content-type'], 'application/vnd.world-redis.chunks');
  assert.deepEqual(multi?.body, Buffer.from('0000000161' + '00000000' + '000000026263', 'hex'));
  assert.equal(close?.url, '/v1/runs/wrun_1/streams/s/close');
});

test('many megabytes of chunks go out in several requests, in order', async () => {
  const { fake, world } = await fakeWorld();
  const chunks = [1, 2, 3].map((fill) => new Uint8Array(4 * 1024 * 1024).fill(fill));
  await world.writeToStreamMulti('s', 'r', chunks);
  assert.deepEqual(
    fake.seen.map(({ body }) => [body.length, body[4]]),
    [
      [2 * (4 * 1024 * 1024 + 4), 1],
      [4 * 1024 * 1024, 3], // a chunk alone goes bare
    ],
  );
});
