/** The answer to run_started that is preloaded with a wake-up: used once, by the first call of that delivery, and as good as a call. */
import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { after, afterEach, test } from 'node:test';
import type { RedisWorld } from '../build/types.js';
import { createWorld, part } from './helpers/client.js';
import { Fake } from './helpers/fake.js';

const { decode, encode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const V5_MARK = Symbol.for('@workflow/world//getWorldFn');
const UNDER_WAY = Symbol.for('@world-redis/client//deliveries');
const KEY = 'a-key-of-at-least-16';
const FLOW = '__wkf_workflow_';
const MESSAGE = { runId: 'r', traceCarrier: {}, requestedAt: new Date(1700000000500) };

const fakes: Fake[] = [];
after(async () => {
  for (const fake of fakes) {
    await createWorld({ url: fake.url }).close();
    await fake.stop();
  }
});
afterEach(() => {
  delete (globalThis as Record<symbol, unknown>)[V5_MARK];
  delete process.env['NODE_ENV'];
  delete process.env['WORKFLOW_BASE_URL'];
});

/** What run_started answers of a run with so many events. */
const answer = (events = 2, runId = 'r', status = 'running') => ({
  run: { runId, status, workflowName: 'w', input: new Uint8Array([1, 2]), createdAt: 1700000000000, startedAt: 1700000000123 },
  events: Array.from({ length: events }, (_, n) => ({
    eventId: `wevt_${n}`,
    eventType: n === 0 ? 'run_created' : 'step_created',
    createdAt: 1700000000000 + n,
    eventData: { input: new Uint8Array([n]), resumeAt: 1700000001000 },
  })),
  cursor: 'c',
  hasMore: false,
  maxEvents: 25000,
});

interface Sent {
  message?: object;
  preload?: Uint8Array;
  messageId?: string;
  headers?: Record<string, string>;
}
let messages = 0;

function delivery({ message = MESSAGE, preload = encode(answer()), messageId = `msg_a_${messages++}`, headers = {} }: Sent = {}): Request {
  const named = {
    'content-type': 'application/cbor',
    'x-vqs-queue-name': `${FLOW}w`,
    'x-vqs-message-id': messageId,
    'x-vqs-message-attempt': '1',
    'x-world-redis-attached': String(preload.byteLength),
    ...headers,
  };
  return new Request('http://app/', { method: 'POST', headers: named, body: Buffer.concat([encode(message), preload]) });
}

const start = (world: RedisWorld, event: object = {}, params: object = {}, runId = 'r') =>
  world.events.create(runId, { eventType: 'run_started', specVersion: 3, ...event }, { requestId: 'x', ...params });

/** A service that answers run_started with a log of three events, and an app whose handler is given with each delivery. */
async function setUp(options: { signingKey?: string } = { signingKey: '' }) {
  const fake = await Fake.start((response, { url }) => {
    const called = { status: 200, body: encode(answer(3)), then: { status: 200, body: encode({ messageId: 'm' }) } };
    response.writeHead(200, { 'content-type': 'application/cbor' });
    response.end(url === '/v1/calls' ? encode({ answers: [called] }) : called.body);
  });
  fakes.push(fake);
  const world = createWorld({ url: fake.url, token: '', ...options });
  const deliver = async (work: (message: unknown) => Promise<void>, request = delivery()) => {
    let failed: unknown;
    const handle = world.createQueueHandler(FLOW, (message) => work(message).catch((error) => void (failed = error)));
    const answered = await handle(request);
    if (failed !== undefined) throw failed;
    return answered;
  };
  return { fake, world, deliver };
}

const count = (result: unknown) => (result as { events: unknown[] }).events.length;

test('run_started is answered from the preload, without a call, exactly as by a call', async () => {
  const { fake, world, deliver } = await setUp();
  let [here, called]: unknown[] = [];
  await deliver(
    async (message) => {
      assert.deepEqual(message, MESSAGE);
      here = await start(world);
      assert.equal(fake.seen.length, 0);
    },
    delivery({ preload: encode(answer(3)) }),
  );
  await deliver(async () => {
    called = await start(world, {}, { resolveData: 'all' });
  });
  assert.equal(fake.seen.length, 1);
  assert.deepEqual(here, called);
  const { run, events } = here as { run: Record<string, unknown>; events: { eventData: { input: Uint8Array; resumeAt: unknown } }[] };
  assert.ok(run['startedAt'] instanceof Date);
  for (const bytes of [run['input'] as Uint8Array, ...events.map(({ eventData }) => eventData.input)]) {
    assert.equal(bytes.constructor, Uint8Array);
    assert.equal(bytes.byteLength, bytes.buffer.byteLength); // its memory is its own
  }
  assert.ok(events[0]?.eventData.resumeAt instanceof Date);
});

test('changes that one delivery makes to its answer affect no other delivery, and no second call', async () => {
  const { fake, world, deliver } = await setUp();
  const preload = encode(answer());
  for (let n = 0; n < 2; n++) {
    await deliver(async () => {
      const first = (await start(world)) as { run: { input: Uint8Array }; events: unknown[] };
      assert.deepEqual([...first.run.input], [1, 2]);
      first.run.input.fill(9);
      first.events.length = 0;
      assert.equal(count(await start(world)), 3);
    }, delivery({ preload }));
  }
  assert.equal(fake.seen.length, 2);
});

test('the message of a step has the start time of the preloaded run', async () => {
  const { fake, world, deliver } = await setUp();
  await deliver(async () => {
    await start(world);
    await world.events.create('r', { eventType: 'step_created', correlationId: 's1', specVersion: 3, eventData: { stepName: 's', input: new Uint8Array(1) } });
  });
  const { calls } = decode(fake.seen[0]?.body as Uint8Array) as { calls: { then: { body: Uint8Array } }[] };
  const { message } = decode(calls[0]?.then.body as Uint8Array) as { message: object };
  assert.deepEqual(
    { ...message, requestedAt: 0 },
    {
      workflowName: 'w',
      workflowRunId: 'r',
      workflowStartedAt: 1700000000123,
      stepId: 's1',
      traceCarrier: {},
      requestedAt: 0,
    },
  );
});

for (const [why, work, sent] of [
  ['of another run', (w) => start(w, {}, {}, 'other')],
  ['after another event', (w) => w.events.create('r', { eventType: 'step_started', correlationId: 's', specVersion: 3 }).then(() => start(w))],
  [
    'after a batch',
    (w) =>
      w.events.createBatch('r', [], {}).then(
        () => start(w),
        () => start(w),
      ),
  ],
  ['with data', (w) => start(w, { eventData: { input: new Uint8Array(1) } })],
  ['with a correlation id', (w) => start(w, { correlationId: 'x' })],
  ['without a spec version', (w) => start(w, { specVersion: undefined })],
  ['without payloads', (w) => start(w, {}, { resolveData: 'none' })],
  ['without the log', (w) => start(w, {}, { skipPreload: true })],
  ['with a timestamp', (w) => start(w, {}, { occurredAt: new Date() })],
  ['with a resume id', (w) => start(w, {}, { resumeId: 'x' })],
  ['of a run that was not running', start, { preload: encode(answer(2, 'r', 'completed')) }],
  ['of a run that the preload is not about', start, { preload: encode(answer(2, 'other')) }],
  ['and the preload cannot be read', start, { preload: new Uint8Array([0xbf, 1]) }],
] as [string, (world: RedisWorld) => Promise<unknown>, Sent?][]) {
  test(`run_started is a call: ${why}`, async () => {
    const { world, deliver } = await setUp();
    let result: unknown;
    const { status } = await deliver(async () => void (result = await work(world)), delivery(sent));
    assert.equal(status, 200);
    assert.equal(count(result), 3);
  });
}

test('run_started is a call: of another service, after the delivery, of SDK v5', async () => {
  const { fake, world, deliver } = await setUp();
  const other = await setUp();
  let later!: () => void;
  const ended = new Promise<void>((resolve) => (later = resolve));
  let rest: Promise<unknown> | undefined;
  await deliver(async () => {
    assert.equal(count(await start(other.world)), 3);
  });
  await deliver(async () => void (rest = ended.then(() => start(world))));
  later();
  assert.equal(count(await rest), 3);
  (globalThis as Record<symbol, unknown>)[V5_MARK] = () => undefined;
  await deliver(async (message) => {
    assert.deepEqual(message, MESSAGE);
    assert.equal(count(await start(world)), 3);
  });
  assert.equal(fake.seen.length, 2);
});

test('a delivery that waited for an earlier one of its message calls the service: its preload is older than the work of that one', async () => {
  const { fake, world, deliver } = await setUp();
  const messageId = 'msg_twice';
  let [begun, end] = [() => {}, () => {}];
  const begins = new Promise<void>((resolve) => (begun = resolve));
  const ends = new Promise<void>((resolve) => (end = resolve));
  // Who looks for an earlier delivery, and finds one, waits.
  let found = () => {};
  const waits = new Promise<void>((resolve) => (found = resolve));
  const underWay = new (class extends Map<string, unknown> {
    override get(key: string) {
      const earlier = super.get(key);
      if (earlier !== undefined) found();
      return earlier;
    }
  })();
  (globalThis as Record<symbol, unknown>)[UNDER_WAY] = underWay;
  const counts: number[] = [];
  const first = deliver(async () => {
    counts.push(count(await start(world)));
    begun();
    await ends;
  }, delivery({ messageId }));
  await begins;
  const second = deliver(async () => void counts.push(count(await start(world))), delivery({ messageId }));
  await waits;
  end();
  await Promise.all([first, second]);
  delete (globalThis as Record<symbol, unknown>)[UNDER_WAY];
  assert.deepEqual(counts, [2, 3]);
  assert.equal(fake.seen.length, 1);
});

/** Signs as docs/protocol.md says, once more. */
function signed(body: Uint8Array, preload: string | undefined): string {
  const [t, nonce] = [Date.now(), randomBytes(16).toString('hex')];
  const hash = createHash('sha256').update(body).digest('hex');
  const lines = ['v1', t, nonce, 'flow', 'msg_s', `${FLOW}w`, '1', 'application/cbor', hash];
  const text = [...lines, ...(preload === undefined ? [] : [preload])].join('\n');
  return `t=${t},n=${nonce},v1=${createHmac('sha256', KEY).update(text).digest('hex')}`;
}

test('with a key, the preload and its length are trusted only as they were signed', async () => {
  const { fake, world, deliver } = await setUp({ signingKey: KEY });
  const preload = encode(answer());
  const length = String(preload.byteLength);
  const body = Buffer.concat([encode(MESSAGE), preload]);
  const forged = Buffer.concat([encode(MESSAGE), encode(answer(1))]);
  let counts: number[] = [];
  const send = async (sent: Uint8Array, header: string | undefined, signature: string) => {
    counts = [];
    const headers = { 'content-type': 'application/cbor', 'x-vqs-queue-name': `${FLOW}w`, 'x-vqs-message-id': 'msg_s', 'x-vqs-message-attempt': '1' };
    const request = new Request('http://app/', {
      method: 'POST',
      headers: { ...headers, 'x-world-signature': signature, ...(header !== undefined && { 'x-world-redis-attached': header }) },
      body: sent,
    });
    return (await deliver(async () => void counts.push(count(await start(world))), request)).status;
  };
  assert.equal(await send(body, length, signed(body, length)), 200);
  assert.deepEqual(counts, [2]);
  for (const [what, sent, header, signature] of [
    ['other bytes', forged, String(encode(answer(1)).byteLength), signed(body, length)],
    ['fewer bytes', body.subarray(0, -1), length, signed(body, length)],
    ['another length', body, String(preload.byteLength - 1), signed(body, length)],
    ['the header taken off', body, undefined, signed(body, length)],
    ['the header put on', body, length, signed(body, undefined)],
  ] as const) {
    assert.equal(await send(sent, header, signature), 401, what);
    assert.deepEqual(counts, [], what);
  }
  assert.equal(fake.seen.length, 0);
});

test('a body that is shorter than the header says, or a header that is not a length, is refused before the handler is called', async () => {
  const { deliver } = await setUp();
  for (const length of ['100000', '0', '-1', 'x', '']) {
    const never = async () => assert.fail('the handler was called');
    assert.equal((await deliver(never, delivery({ headers: { 'x-world-redis-attached': length } }))).status, 400, length);
  }
});

test('an app registers for a preload where it can be trusted: with a key, or out of production', async () => {
  const registered = async (options: { signingKey?: string; token?: string }) => {
    const { fake } = await setUp();
    const world = createWorld({ url: fake.url, token: '', signingKey: '', ...options });
    process.env['WORKFLOW_BASE_URL'] = 'http://app.example';
    await world.start();
    await world.queue(`${FLOW}w`, MESSAGE);
    await world.close();
    const [app, queue] = fake.seen.map(({ body }) => decode(body) as Record<string, unknown>);
    const { app: named } = queue as { app: Record<string, unknown> };
    assert.deepEqual(named['attach'], app?.['attach']);
    return app?.['attach'];
  };
  assert.deepEqual(await registered({}), ['run_started']);
  process.env['NODE_ENV'] = 'production';
  assert.deepEqual(await registered({ signingKey: KEY }), ['run_started']);
  assert.deepEqual(await registered({ token: 't' }), ['run_started']);
  assert.equal(await registered({}), undefined);
  const { world, deliver } = await setUp();
  await deliver(async () => assert.equal(count(await start(world)), 3)); // nor is it believed
  delete process.env['NODE_ENV'];
  (globalThis as Record<symbol, unknown>)[V5_MARK] = () => undefined;
  assert.equal(await registered({}), undefined);
});
