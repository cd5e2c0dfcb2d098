/** SDK v4's queue() after an event is sent with the event: one request, and the message only once the event is written. */
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { QueueOptions, RedisWorld } from '../build/types.js';
import { createWorld, part } from './helpers/client.js';
import { type Answer, drop, Fake } from './helpers/fake.js';

const { decode, encode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

interface Part {
  path: string;
  key: string;
  body: Uint8Array;
  then?: Part;
}

/** One call as the service sees it, whether it travelled in a bundle or by itself. */
interface Made {
  path: string;
  key: string;
  body: any;
}
interface Reply {
  status: number;
  body?: object;
}
type Serve = (call: Made) => Reply;

const fakes: Fake[] = [];
after(async () => {
  for (const fake of fakes) {
    await createWorld({ url: fake.url }).close();
    await fake.stop();
  }
});
// Whether anticipation is off is the process's.
afterEach(() => delete (globalThis as Record<symbol, unknown>)[Symbol.for('@world-redis/client//anticipated')]);

const STARTED = 1700000000123;
let messages = 0;
/** What the service does when nothing is wrong. */
const fine: Serve = ({ path, body }) => {
  if (path === '/v1/queue') return { status: 200, body: { messageId: `msg_${messages++}` } };
  const run = body.event.eventType === 'run_started' ? { run: { runId: 'r', workflowName: 'w', status: 'running', startedAt: STARTED } } : {};
  return { status: 200, body: { event: { eventType: body.event.eventType }, ...run } };
};
const refuse = (status: number, name: string): Reply => ({ status, body: { error: { name, message: 'no', status } } });

interface Options {
  serve?: Serve;
  /** What the service knows of: nothing of bundles, bundles, or all. */
  knows?: 'calls' | 'bundles' | 'then';
}

/** A service that keeps what it is asked: `made` in the order in which it did it. */
async function setUp({ serve = fine, knows = 'then' }: Options = {}) {
  const made: Made[] = [];
  const perform = ({ path, key, body }: Part): Reply => {
    const call = { path, key, body: decode(body) };
    made.push(call);
    return serve(call);
  };
  const wire = ({ status, body }: Reply) => ({ status, ...(body && { body: encode(body) }) });
  const answer: Answer = (response, { url, headers, body }) => {
    const write = (status: number, value: unknown) => {
      response.writeHead(status, { 'content-type': 'application/cbor' });
      response.end(encode(value));
    };
    if (url !== '/v1/calls') {
      const { status, body: value } = perform({ path: url, key: String(headers['idempotency-key']), body });
      return write(status, value);
    }
    if (knows === 'calls') return write(404, {});
    const { calls } = decode(body) as { calls: Part[] };
    const answers = calls.map((call) => {
      const first = perform(call);
      if (!call.then || knows !== 'then') return wire(first);
      return { ...wire(first), then: first.status < 300 ? wire(perform(call.then)) : { status: 424 } };
    });
    write(200, { answers });
  };
  const fake = await Fake.start(answer);
  fakes.push(fake);
  const world = createWorld({ url: fake.url });
  /** Has the world's own handler work on one delivery, and fails with what the handler failed with. */
  const deliver = async (prefix: string, message: object, work: () => Promise<void>) => {
    let failed: unknown;
    const handle = world.createQueueHandler(prefix, () => work().catch((error) => void (failed = error)));
    const name = `${prefix}${prefix.includes('step') ? 's' : 'w'}`;
    const headers = { 'x-vqs-queue-name': name, 'x-vqs-message-id': `msg_in_${messages++}`, 'x-vqs-message-attempt': '1' };
    const answered = await handle(new Request('http://app/', { method: 'POST', headers, body: JSON.stringify(message) }));
    assert.equal(answered.status, 200);
    if (failed !== undefined) throw failed;
  };
  const step = (stepId: string, work: () => Promise<void>, prefix = '__wkf_step_') =>
    deliver(prefix, { workflowName: 'w', workflowRunId: 'r', workflowStartedAt: STARTED, stepId, requestedAt: 'x' }, work);
  const flow = (work: () => Promise<void>, runId = 'r') =>
    deliver('__wkf_workflow_', { runId, requestedAt: 'x' }, async () => {
      await create(world, 'run_started', undefined, new Uint8Array(3), runId);
      await work();
    });
  const urls = () => fake.seen.map(({ url }) => url);
  return { fake, world, made, urls, step, flow };
}

const create = (world: RedisWorld, eventType: string, id: string | undefined, input = new Uint8Array(3), runId = 'r') =>
  world.events.create(runId, { eventType, correlationId: id, specVersion: 3, eventData: { stepName: 's', input } }, { requestId: undefined });

/** The two calls of queue() as SDK v4 makes them. */
const wake = (world: RedisWorld, { queueName = '__wkf_workflow_w', traceCarrier = {} } = {}) => world.queue(queueName, { runId: 'r', traceCarrier, requestedAt: new Date() });
const stepMessage = (world: RedisWorld, stepId: string, options: QueueOptions = {}, runId = 'r') =>
  world.queue(
    '__wkf_step_s',
    { workflowName: 'w', workflowRunId: runId, workflowStartedAt: STARTED, stepId, traceCarrier: {}, requestedAt: new Date() },
    { idempotencyKey: stepId, headers: {}, ...options },
  );

/** What the service received of messages, except when they were asked for. */
const queued = (made: Made[]) =>
  made
    .filter(({ path }) => path === '/v1/queue')
    .map(
      ({
        body: {
          message: { requestedAt, ...message },
          ...rest
        },
      }) => {
        assert.ok(requestedAt instanceof Date);
        return { ...rest, message };
      },
    );
const kinds = (made: Made[]) => made.map(({ path, body }) => (path === '/v1/queue' ? 'queue' : body.event.eventType));

for (const [what, prefix, queueName] of [
  ['step_completed', '__wkf_step_', '__wkf_workflow_w'],
  ['step_failed', '__wkf_step_', '__wkf_workflow_w'],
  ['step_completed', '__shop_wkf_step_', '__shop_wkf_workflow_w'],
] as const) {
  test(`${what} in ${prefix} and the wake-up of the run are one request; what is queued is what the SDK asks for`, async () => {
    const { world, made, urls, step } = await setUp();
    let messageId: unknown;
    await step(
      'step_1',
      async () => {
        await create(world, what, 'step_1');
        assert.deepEqual(kinds(made), [what, 'queue']);
        ({ messageId } = await wake(world, { queueName }));
      },
      prefix,
    );
    assert.deepEqual(urls(), ['/v1/calls']);
    assert.equal(messageId, `msg_${messages - 1}`);
    assert.notEqual(made[0]?.key, made[1]?.key);
    await wake(world, { queueName }); // no delivery any more: a call
    assert.equal(urls().length, 2);
    const [early, usual] = queued(made);
    assert.deepEqual(early, usual);
  });
}

/** Creates steps at once and queues each, as SDK v4 does; returns the ids of their messages. */
const createAll = (world: RedisWorld, ids: string[], runId = 'r') =>
  Promise.all(
    ids.map(async (id) => {
      await create(world, 'step_created', id, new Uint8Array(3), runId);
      return (await stepMessage(world, id, {}, runId)).messageId as string;
    }),
  );

/** Lets deliveries go on in one turn, when so many have come. */
function meeting(count: number): () => Promise<void> {
  let go: (() => void) | undefined;
  const all = new Promise<void>((resolve) => (go = resolve));
  return () => {
    if (--count === 0) go?.();
    return all;
  };
}

test('a step and its message are one request', async () => {
  const { world, made, urls, flow } = await setUp();
  let replies: string[] = [];
  await flow(async () => void (replies = await createAll(world, ['step_1'])));
  assert.deepEqual(urls(), ['/v1/runs/r/events', '/v1/calls']);
  assert.deepEqual(kinds(made.slice(1)), ['step_created', 'queue']);
  assert.deepEqual(replies, [`msg_${messages - 1}`]);
  await stepMessage(world, 'step_1'); // no delivery any more: a call
  const [early, usual] = queued(made);
  assert.deepEqual(early, usual);
});

test('the steps of one turn are created first and then queued, in no more requests than without anticipation', async () => {
  for (const count of [2, 3, 40]) {
    const { world, made, urls, flow } = await setUp();
    const ids = Array.from({ length: count }, (_, i) => `step_${i}`);
    await flow(async () => void (await createAll(world, ids)));
    assert.deepEqual(kinds(made.slice(1)), [...ids.map(() => 'step_created'), ...ids.map(() => 'queue')]);
    assert.deepEqual(urls(), ['/v1/runs/r/events', ...Array(2 * Math.ceil(count / 32)).fill('/v1/calls')]);
  }
});

test('pairs of twenty runs in one turn are two requests: a pair counts as two of 32 calls and is never split; each gets its own answer', async () => {
  const { world, made, fake, flow } = await setUp();
  const runs = Array.from({ length: 20 }, (_, i) => `run_${i}`);
  const replies: unknown[] = [];
  const met = meeting(runs.length);
  await Promise.all(
    runs.map((runId) =>
      flow(async () => {
        await met();
        replies.push(...(await createAll(world, [`step of ${runId}`], runId)));
      }, runId),
    ),
  );
  const bundles = fake.seen.slice(1).map(({ body }) => (decode(body) as { calls: Part[] }).calls);
  assert.deepEqual(
    bundles.map(({ length }) => length),
    [16, 4],
  );
  assert.ok(bundles.flat().every(({ then }) => then));
  assert.deepEqual(
    kinds(made.slice(20)),
    runs.flatMap(() => ['step_created', 'queue']),
  );
  assert.equal(new Set(replies).size, 20);
});

test('while other steps of the run are in progress, the end of a step anticipates no wake-up; the end of the last one does', async () => {
  const { world, urls, step } = await setUp();
  const end = async (id: string) => {
    await create(world, 'step_completed', id);
    await wake(world);
  };
  await step('step_1', async () => {
    await step('step_2', () => end('step_2'));
    await end('step_1');
  });
  assert.deepEqual(urls(), ['/v1/runs/r/events', '/v1/queue', '/v1/calls']);
});

test('a pair is bundled with the other calls of its turn if there is room for both', async () => {
  const { world, fake, flow } = await setUp();
  await flow(async () => {
    const waits = Array.from({ length: 31 }, (_, i) => create(world, 'wait_created', `wait_${i}`));
    await Promise.all([...waits, create(world, 'step_created', 'step_1'), create(world, 'wait_created', 'wait_31')]);
  });
  const sizes = fake.seen.slice(1).map(({ body }) => (decode(body) as { calls: Part[] }).calls.map(({ then }) => (then ? 2 : 1)));
  assert.deepEqual(sizes, [Array(31).fill(1), [2, 1]]);
});

test('an answer is used once: the second queue() of the same message is a call', async () => {
  const { world, made, urls, step } = await setUp();
  const replies: unknown[] = [];
  await step('step_1', async () => {
    await create(world, 'step_completed', 'step_1');
    const both = await Promise.all([wake(world), wake(world)]);
    replies.push(...both.map(({ messageId }) => messageId));
  });
  assert.deepEqual(urls(), ['/v1/calls', '/v1/queue']);
  assert.equal(new Set(replies).size, 2);
  assert.equal(queued(made).length, 2);
});

for (const [status, name] of [
  [409, 'EntityConflictError'],
  [410, 'RunExpiredError'],
  [404, 'WorkflowRunNotFoundError'],
] as const) {
  test(`an event that is refused with ${status} queues nothing, and is the SDK's usual error; a queue() after it is a call`, async () => {
    const { world, made, urls, flow } = await setUp({
      serve: (call) => (call.body.event?.eventType === 'step_created' ? refuse(status, name) : fine(call)),
    });
    await flow(async () => {
      await assert.rejects(create(world, 'step_created', 'step_1'), { name });
      assert.deepEqual(kinds(made), ['run_started', 'step_created']);
      await stepMessage(world, 'step_1');
    });
    assert.deepEqual(urls().slice(1), ['/v1/calls', '/v1/queue']);
  });
}

test('a refused message is queued by the usual call, with its own key, and the event is not affected', async () => {
  let first = true;
  const { world, made, urls, step } = await setUp({
    serve: (call) => {
      if (call.path !== '/v1/queue' || !first) return fine(call);
      first = false;
      return refuse(503, 'WorkflowWorldError');
    },
  });
  await step('step_1', async () => {
    await create(world, 'step_completed', 'step_1');
    assert.match(String((await wake(world)).messageId), /^msg_/);
  });
  assert.deepEqual(urls(), ['/v1/calls', '/v1/queue']);
  assert.deepEqual(kinds(made), ['step_completed', 'queue', 'queue']);
  assert.notEqual(made[1]?.key, made[2]?.key);
});

test('a message that differs from the anticipated one is queued by the usual call, and nothing is anticipated afterwards', async () => {
  const traced = { traceCarrier: { traceparent: '00-1' } };
  const { world, made, urls, step } = await setUp();
  const once = (id: string) =>
    step(id, async () => {
      await create(world, 'step_completed', id);
      await wake(world, traced);
    });
  await once('step_1');
  assert.deepEqual(
    queued(made).map(({ message }) => message.traceCarrier),
    [{}, traced.traceCarrier],
  );
  await once('step_2');
  assert.deepEqual(urls().slice(2), ['/v1/runs/r/events', '/v1/queue']);
});

test('a message that the SDK does not ask for, as when the run has ended meanwhile, does not turn anticipation off', async () => {
  const { world, urls, step } = await setUp();
  for (const id of ['step_1', 'step_2']) await step(id, async () => void (await create(world, 'step_completed', id)));
  assert.deepEqual(urls(), ['/v1/calls', '/v1/calls']);
});

test('an anticipated message must be equal in every option and in the service', async () => {
  const elsewhere = await setUp();
  for (const options of [{ idempotencyKey: 'another' }, { delaySeconds: 1 }, { headers: { a: 'b' } }, { deploymentId: 'd' }, { specVersion: 3 }]) {
    const { world, urls, flow } = await setUp();
    await flow(async () => {
      await create(world, 'step_created', 'step_1');
      await stepMessage(elsewhere.world, 'step_1');
      await stepMessage(world, 'step_1', options);
      assert.equal(urls().at(-1), '/v1/queue', JSON.stringify(options));
      await stepMessage(world, 'step_1');
    });
    assert.equal(urls().length, 3, JSON.stringify(options));
  }
  assert.equal(elsewhere.made.length, 5);
});

test('another kind of queue() for the same run, such as a resumed hook, does not turn anticipation off', async () => {
  const { world, urls, step } = await setUp();
  for (const id of ['step_1', 'step_2']) {
    await step(id, async () => {
      await create(world, 'step_completed', id);
      await world.queue('__wkf_workflow_w', { runId: 'r' }, { specVersion: 3 });
      await wake(world);
    });
  }
  assert.deepEqual(urls(), ['/v1/calls', '/v1/queue', '/v1/calls', '/v1/queue']);
});

test('nothing is anticipated outside a delivery or after it, for other runs, steps or events, or for a run that was not started in it', async () => {
  const { world, urls, step, flow, made } = await setUp();
  await create(world, 'step_completed', 'step_1');
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  let late: Promise<unknown> | undefined;
  await step('step_1', async () => {
    await create(world, 'step_completed', 'step_2');
    await create(world, 'step_completed', 'step_1', new Uint8Array(3), 'another');
    for (const kind of ['step_started', 'step_retrying', 'step_created', 'hook_received']) await create(world, kind, 'step_1');
    late = ended.then(() => create(world, 'step_completed', 'step_1'));
  });
  await flow(async () => {
    await create(world, 'step_created', 'step_1', new Uint8Array(3), 'another');
    await create(world, 'step_completed', 'step_1');
  });
  end();
  await late;
  const { createQueueHandler } = world;
  const handle = createQueueHandler('__wkf_workflow_', () => create(world, 'step_created', 'step_1'));
  const headers = { 'x-vqs-queue-name': '__wkf_workflow_w', 'x-vqs-message-id': 'msg_x', 'x-vqs-message-attempt': '1' };
  await handle(new Request('http://app/', { method: 'POST', headers, body: '{"runId":"r"}' }));
  assert.deepEqual(queued(made), []);
  assert.ok(urls().every((url) => url !== '/v1/calls'));
});

test('a step that the SDK creates only to fail it, since its arguments cannot be serialized, is not queued', async () => {
  const { world, made, flow } = await setUp();
  const input = Buffer.from('devl[{"args":1,"__workflowUnserializableStepInput":2},[],true]');
  await flow(async () => {
    await create(world, 'step_created', 'step_1', input);
    await create(world, 'step_failed', 'step_1');
  });
  assert.deepEqual(kinds(made), ['run_started', 'step_created', 'step_failed']);
});

test('an event that is too large for a bundle is sent separately, and its message after it', async () => {
  const { world, urls, step } = await setUp();
  await step('step_1', async () => {
    await create(world, 'step_completed', 'step_1', new Uint8Array(40_000));
    await wake(world);
  });
  assert.deepEqual(urls(), ['/v1/runs/r/events', '/v1/queue']);
});

test('SDK v5 is not anticipated', async () => {
  const mark = Symbol.for('@workflow/world//getWorldFn');
  const { world, urls, step } = await setUp();
  (globalThis as Record<symbol, unknown>)[mark] = () => undefined;
  try {
    await step('step_1', async () => void (await create(world, 'step_completed', 'step_1')));
  } finally {
    delete (globalThis as Record<symbol, unknown>)[mark];
  }
  assert.deepEqual(urls(), ['/v1/runs/r/events']);
});

test('a service that supports bundles but no pairs gets the event alone, and the message when the SDK queues it', async () => {
  const { world, made, urls, step } = await setUp({ knows: 'bundles' });
  await step('step_1', async () => {
    await create(world, 'step_completed', 'step_1');
    assert.deepEqual(kinds(made), ['step_completed']);
    await wake(world);
  });
  assert.deepEqual(kinds(made), ['step_completed', 'queue']);
  assert.deepEqual(urls(), ['/v1/calls', '/v1/queue']);
});

test('a service from before bundles gets each call once, too', async () => {
  const { world, made, urls, step } = await setUp({ knows: 'calls' });
  await step('step_1', async () => {
    await create(world, 'step_completed', 'step_1');
    await wake(world);
  });
  assert.deepEqual(kinds(made), ['step_completed', 'queue']);
  assert.deepEqual(urls(), ['/v1/calls', '/v1/runs/r/events', '/v1/queue']);
});

test('a pair whose answer is lost, or whose event the service cannot accept yet, is sent again as a pair with both keys', async () => {
  let busy = true;
  const { fake, world, urls, step } = await setUp({
    serve: (call) => {
      if (call.path === '/v1/queue' || !busy) return fine(call);
      busy = false;
      return refuse(503, 'WorkflowWorldError');
    },
  });
  fake.next(drop);
  await step('step_1', async () => {
    await create(world, 'step_completed', 'step_1');
    await wake(world);
  });
  assert.deepEqual(urls(), ['/v1/calls', '/v1/calls', '/v1/calls']);
  const keys = fake.seen.map(({ body }) => {
    const [{ key, then }] = (decode(body) as { calls: [Part] }).calls;
    return [key, then?.key];
  });
  assert.notEqual(keys[0]?.[0], keys[0]?.[1]);
  assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);
});

test('a bundle whose second pair fails: the others succeed', async () => {
  const { world, made, urls, flow } = await setUp({
    serve: (call) => (call.body.event?.correlationId === 'step_b' ? refuse(409, 'EntityConflictError') : fine(call)),
  });
  const met = meeting(3);
  const results = await Promise.allSettled(
    ['a', 'b', 'c'].map((run) =>
      flow(async () => {
        await met();
        await createAll(world, [`step_${run}`], run);
      }, run),
    ),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(urls(), ['/v1/calls', '/v1/calls']);
  assert.deepEqual(
    queued(made).map(({ idempotencyKey }) => idempotencyKey),
    ['step_a', 'step_c'],
  );
});
