/** Each event says which one of its run's log the SDK was given last in this delivery, and nothing is written on what is lost. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { RedisWorld } from '../build/types.js';
import { createWorld, part } from './helpers/client.js';
import { Fake } from './helpers/fake.js';

const { decode, encode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const V5_MARK = Symbol.for('@workflow/world//getWorldFn');
const FLOW = '__wkf_workflow_';
const STEP = '__wkf_step_';
const T0 = 1700000000000;
const BAD_CURSOR = { status: 400, body: { error: { name: 'WorkflowWorldError', message: 'no', status: 400, code: 'invalid' } } };
const LOST = { status: 412, body: { error: { name: 'PreconditionFailedError', message: 'lost', status: 412, code: 'precondition_failed' } } };
const stale = { name: 'PreconditionFailedError', status: 412 };

const fakes: Fake[] = [];
after(async () => {
  for (const fake of fakes) {
    await createWorld({ url: fake.url }).close();
    await fake.stop();
  }
});
afterEach(() => delete (globalThis as Record<symbol, unknown>)[V5_MARK]);
const becomeV5 = () => ((globalThis as Record<symbol, unknown>)[V5_MARK] = () => undefined);

/** The event at a position, as the service answers it; with an id of SDK v5 or of v4. */
const slot = (position: number) => ({ eventId: `evnt_${String(position + 1).padStart(26, '0')}`, eventType: 'x', createdAt: T0 + position });
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** The bits of the run before the position are all ones, which the client must not take for a part of it. */
const ulid = (position: number) => {
  let bits = 7 * 2 ** 32 + position;
  let tail = '';
  for (let i = 0; i < 7; i++, bits = Math.floor(bits / 32)) tail = DIGITS[bits % 32] + tail;
  return { eventId: `wevt_01HF7YAT00ZZZZZZZZZ${tail}`, eventType: 'x', createdAt: T0 + position };
};
const end = (position: number) => ({ position, createdAt: T0 + position });

interface Reply {
  status?: number;
  body: object;
}
interface Made {
  run: string;
  type: string;
  logEnd: unknown;
}

/** A service whose answers are given one by one, and what it was asked to write. */
async function setUp() {
  const made: Made[] = [];
  const lists: string[] = [];
  const replies: (Reply | Promise<Reply>)[] = [];
  const fake = await Fake.start(async (response, { url, body }) => {
    if (url === '/v1/calls') return void response.writeHead(404).end();
    const run = /^\/v1\/runs\/([^/]+)\/events/.exec(url)?.[1] ?? '';
    if (body.byteLength === 0) lists.push(url);
    else {
      const { event, events, params } = decode(body) as any;
      made.push({ run, type: event?.eventType ?? `${events.length} events`, logEnd: params.logEnd });
    }
    const { status = 200, body: answer } = (await replies.shift()) ?? { body: {} };
    response.writeHead(status, { 'content-type': 'application/cbor' }).end(encode(answer));
  });
  fakes.push(fake);
  const world = createWorld({ url: fake.url, token: '', signingKey: '' });
  let messages = 0;
  /** Delivers a message and returns the answer; what the handler throws the client gets, as from the SDK. */
  const deliver = async (message: object, work: () => Promise<unknown>, prefix = FLOW) => {
    const headers = {
      'content-type': 'application/cbor',
      'x-vqs-queue-name': `${prefix}w`,
      'x-vqs-message-id': `msg_l_${messages++}`,
      'x-vqs-message-attempt': '1',
    };
    const request = new Request('http://app/', { method: 'POST', headers, body: Buffer.from(encode(message)) });
    const response = await world.createQueueHandler(prefix, work)(request);
    return { status: response.status, ...((await response.json()) as object) };
  };
  return { world, made, lists, replies, deliver };
}

const write = (world: RedisWorld, eventType: string, runId = 'r', params: object = {}) =>
  world.events.create(runId, { eventType, specVersion: 3, correlationId: 'step_1', eventData: {} } as any, params as any);
const list = (world: RedisWorld, cursor?: string) => world.events.list({ runId: 'r', pagination: { sortOrder: 'asc', ...(cursor !== undefined && { cursor }) } } as any);
const page = (...events: object[]): Reply => ({ body: { data: events, cursor: 'c', hasMore: false } });
const wrote = (event: object, more: object = {}): Reply => ({ body: { event, ...more } });

for (const [sdk, at] of [
  ['v4', ulid],
  ['v5', slot],
] as const) {
  test(`${sdk}: each event names the last one that the SDK received, by whatever call`, async () => {
    if (sdk === 'v5') becomeV5();
    const { world, made, replies, deliver } = await setUp();
    const step = (...answers: Reply[]) => void replies.push(...answers);
    const answer = await deliver({ runId: 'r' }, async () => {
      step({ body: { run: { runId: 'r', status: 'running' }, events: [at(0), at(1)], cursor: 'c', hasMore: false } }, wrote(at(2)));
      await write(world, 'run_started');
      await write(world, 'step_created');
      step(page(at(3), at(4)), wrote(at(5), { events: [at(5)], cursor: 'd', hasMore: false }));
      await list(world, 'c');
      await write(world, 'wait_created');
      // An answer that has less, and one without an event, take nothing back.
      step(wrote(at(2)), { body: {} }, wrote(at(9), { events: [at(6), at(7), at(8)] }), { body: { results: [] } });
      await write(world, 'hook_created');
      await write(world, 'hook_disposed');
      await write(world, 'step_started');
      await world.events.createBatch('r', [{ event: { eventType: 'step_created' } }, { event: { eventType: 'step_started' } }] as any, {});
      step(page(...Array.from({ length: 9 }, (_, n) => at(n))));
      await list(world);
      await write(world, 'run_completed');
      await write(world, 'run_created', 'another');
    });
    assert.deepEqual(answer, { status: 200, ok: true });
    await write(world, 'run_cancelled');
    assert.deepEqual(
      made.map(({ type, logEnd }) => [type, logEnd]),
      [
        ['run_started', undefined],
        ['step_created', end(1)],
        ['wait_created', end(4)],
        ['hook_created', end(5)],
        ['hook_disposed', end(5)],
        ['step_started', end(5)],
        ['2 events', end(9)],
        ['run_completed', end(8)],
        ['run_created', undefined],
        ['run_cancelled', undefined],
      ],
    );
  });
}

test('v4: a step names the event of the answer to its start, and so does a batch', async () => {
  const { world, made, replies, deliver } = await setUp();
  replies.push(wrote(ulid(70000)));
  await deliver(
    { workflowRunId: 'r', stepId: 'step_1', workflowName: 'w' },
    async () => {
      await write(world, 'step_started');
      await write(world, 'step_completed');
    },
    STEP,
  );
  becomeV5();
  replies.push({
    body: {
      results: [
        { status: 200, event: slot(3) },
        { status: 409, error: 'conflict', message: 'no' },
        { status: 200, event: slot(4) },
      ],
    },
  });
  await deliver({ runId: 'r' }, async () => {
    await world.events.createBatch('r', [{ event: { eventType: 'step_created' } }] as any, {});
    await write(world, 'step_completed');
  });
  assert.deepEqual(
    made.map(({ logEnd }) => logEnd),
    [undefined, end(70000), undefined, end(4)],
  );
});

test('two concurrent deliveries of a run are independent', async () => {
  const { world, made, replies, deliver } = await setUp();
  let [first, second] = [() => {}, () => {}];
  const one = new Promise<void>((resolve) => (first = resolve));
  const other = new Promise<void>((resolve) => (second = resolve));
  replies.push(page(ulid(0), ulid(1)));
  const late = deliver({ runId: 'r' }, async () => {
    await list(world);
    first();
    await other;
    await write(world, 'late');
  });
  await one;
  replies.push(page(ulid(0), ulid(1), ulid(2)));
  await deliver({ runId: 'r' }, async () => {
    await list(world);
    await write(world, 'early');
  });
  second();
  await late;
  assert.deepEqual(
    made.map(({ type, logEnd }) => [type, logEnd]),
    [
      ['early', end(2)],
      ['late', end(1)],
    ],
  );
});

test('v4: after a 412 nothing more is written in this delivery, whatever is loaded; the next one may write', async () => {
  const { world, made, lists, replies, deliver } = await setUp();
  replies.push(page(ulid(0), ulid(5)), LOST, BAD_CURSOR, page(ulid(0)));
  const answer = await deliver({ runId: 'r' }, async () => {
    await list(world);
    await assert.rejects(write(world, 'step_created'), stale);
    await assert.rejects(list(world, 'c'), { status: 400 });
    await list(world);
    await assert.rejects(write(world, 'step_created'), stale);
    await assert.rejects(world.events.createBatch('r', [], {}), stale);
    await write(world, 'run_created', 'another');
    return { timeoutSeconds: 0 };
  });
  assert.deepEqual(answer, { status: 200, timeoutSeconds: 0 });
  replies.push(page(ulid(0)));
  await deliver({ runId: 'r' }, async () => {
    await list(world);
    await write(world, 'step_created');
  });
  assert.deepEqual(
    made.map(({ run, logEnd }) => [run, logEnd]),
    [
      ['r', end(5)],
      ['another', undefined],
      ['r', end(0)],
    ],
  );
  assert.equal(lists.length, 4);
});

test('v5: after a 412 nothing is written until the log was loaded from its beginning, which the SDK then has', async () => {
  becomeV5();
  const { world, made, replies, deliver } = await setUp();
  let answerLate: (reply: Reply) => void = () => {};
  const lateAnswer = new Promise<Reply>((resolve) => (answerLate = resolve));
  await deliver({ runId: 'r' }, async () => {
    replies.push(page(slot(0), slot(8)), lateAnswer, LOST);
    await list(world);
    const late = write(world, 'late');
    await assert.rejects(write(world, 'step_started'), stale);
    await assert.rejects(write(world, 'step_created'), stale);
    replies.push(page(slot(0), slot(1)));
    await list(world);
    // One more of those that were sent before does not count.
    answerLate(LOST);
    await assert.rejects(late, stale);
    replies.push(wrote(slot(2)));
    await write(world, 'step_started');
    await write(world, 'step_completed');
  });
  assert.deepEqual(
    made.map(({ type, logEnd }) => [type, logEnd]),
    [
      ['late', end(8)],
      ['step_started', end(8)],
      ['step_started', end(1)],
      ['step_completed', end(2)],
    ],
  );
});

test('v5: a refused cursor has the same effect: the list that follows is added to what the SDK has', async () => {
  becomeV5();
  const { world, made, replies, deliver } = await setUp();
  await deliver({ runId: 'r' }, async () => {
    replies.push(page(slot(0), slot(8)), BAD_CURSOR, page(slot(0), slot(1)));
    await list(world);
    await assert.rejects(list(world, 'c'), { status: 400 });
    await list(world);
    await assert.rejects(write(world, 'step_started'), stale);
    replies.push(page(slot(0), slot(1)));
    await list(world);
    await write(world, 'step_started');
  });
  assert.deepEqual(
    made.map(({ logEnd }) => logEnd),
    [end(1)],
  );
});

test('a log of several pages is read again if its beginning is gone when its end is read', async () => {
  const { world, made, lists, replies, deliver } = await setUp();
  await deliver({ runId: 'r' }, async () => {
    const first = { body: { data: [ulid(0), ulid(9)], cursor: 'c', hasMore: true } };
    replies.push(first, BAD_CURSOR, page(ulid(0), ulid(1)));
    assert.equal((await list(world)).data.length, 2);
    await write(world, 'step_created');
    replies.push(first, BAD_CURSOR, first, BAD_CURSOR);
    await assert.rejects(list(world), { status: 400 });
  });
  assert.deepEqual(
    made.map(({ logEnd }) => logEnd),
    [end(1)],
  );
  assert.equal(lists.length, 7);
});

test('a delivery that ends with a 412 is repeated after a second; one that ends with another error fails', async () => {
  for (const prefix of [FLOW, STEP]) {
    const { world, replies, deliver } = await setUp();
    const message = prefix === FLOW ? { runId: 'r' } : { workflowRunId: 'r', stepId: 'step_1' };
    replies.push(LOST);
    assert.deepEqual(await deliver(message, () => write(world, 'step_completed'), prefix), { status: 200, timeoutSeconds: 1 });
    replies.push({ status: 409, body: { error: { name: 'EntityConflictError', message: 'no', status: 409 } } });
    assert.equal((await deliver(message, () => write(world, 'step_completed'), prefix)).status, 500);
  }
});

test('an event without a position is not sent', async () => {
  const { world, made, replies, deliver } = await setUp();
  const odd = ['evnt_1', 'wevt_', 'wevt_01HF7YAT00ZZZZZZZZZ000000I', 'x', 7].map((eventId) => ({ eventId, createdAt: T0 }));
  replies.push(...odd.map((event) => wrote(event)), wrote({ eventId: slot(3).eventId }));
  await deliver({ runId: 'r' }, async () => {
    for (let i = 0; i < odd.length + 2; i++) await write(world, 'step_created');
  });
  await deliver({}, () => write(world, 'step_created'));
  assert.deepEqual(new Set(made.map(({ logEnd }) => logEnd)), new Set([undefined]));
});
