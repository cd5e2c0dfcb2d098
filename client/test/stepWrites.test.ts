/** Stream writes say which step they come from, outlast outages, and a step whose write was given up is not completed. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { WorldOptions } from '../build/index.js';
import { createWorld, part } from './helpers/client.js';
import { type Answer, drop, Fake, json } from './helpers/fake.js';
import { isRetryable, refused } from './helpers/refused.js';
import { asStep } from './helpers/step.js';

const { decode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const fakes: Fake[] = [];
after(async () => {
  for (const fake of fakes) {
    await createWorld({ url: fake.url }).close();
    await fake.stop();
  }
});

async function fakeWorld(options: WorldOptions = {}) {
  const fake = await Fake.start(json(200, {}));
  fakes.push(fake);
  return { fake, world: createWorld({ url: fake.url, ...options }) };
}

const refusal = (status: number, code = 'c'): Answer => json(status, { error: { name: 'WorkflowWorldError', status, code, message: `no ${status}` } });
const unavailable = refusal(503, 'unavailable');

/** Answers a request when it is released. */
function held(answer: Answer) {
  let arrive = () => {};
  let release = () => {};
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  const late: Answer = (response, seen) => {
    arrive();
    void released.then(() => answer(response, seen));
  };
  return { arrived, release, answer: late };
}

/** What the requests say of their step; those that say nothing are empty. */
const stepsOf = (fake: Fake) => fake.seen.map(({ headers }) => [headers['x-stream-step'], headers['x-stream-attempt']].filter((value) => value !== undefined).join(' '));

let runs = 0;
/** A run and a step that no other test has: what is known of steps is the process's. */
const newStep = () => ({ run: `wrun_${++runs}`, step: `step_${runs}` });

const started = (stepId: string) => ({ eventType: 'step_started', specVersion: 3, correlationId: stepId });
const completed = (stepId: string) => ({ eventType: 'step_completed', specVersion: 3, correlationId: stepId });
const startedAnswer = (attempt: number): Answer => json(200, { step: { attempt } });

test('every write and close in a step names the step and its attempt, in each form, also late ones; others name none', async () => {
  const { fake, world } = await fakeWorld();
  await asStep('wrun_a', 'step_a', 2, async () => {
    await world.writeToStream('s', 'wrun_a', 'x');
    await new Promise((resolve) => setImmediate(resolve));
    await world.writeToStreamMulti('s', 'wrun_a', ['x', 'y']);
    await world.closeStream('s', Promise.resolve('wrun_a'));
    await world.streams.write('wrun_a', 's', 'x');
    await world.streams.writeMulti('wrun_a', 's', ['x', 'y']);
    await world.streams.close('wrun_a', 's');
  });
  assert.deepEqual(stepsOf(fake), Array(6).fill('step_a 2'));

  await world.writeToStream('s', 'wrun_a', 'x');
  await world.streams.close('wrun_a', 's');
  assert.deepEqual(stepsOf(fake).slice(6), ['', '']);
});

test('a session belongs to the step that opened it, wherever its writes come from', async () => {
  const { fake, world } = await fakeWorld();
  const open = (step: string, attempt: number) => asStep('wrun_b', step, attempt, () => world.streams.createWriteSession('wrun_b', 's', { writerId: `w_${step}` }));
  const [one, two] = [open('step_1', 1), open('step_2', 3)];
  const none = world.streams.createWriteSession('wrun_b', 's', { writerId: 'w' });
  await one.write(0, ['x']);
  await asStep('wrun_b', 'step_9', 9, () => two.write(0, ['x', 'y']));
  await one.close();
  await asStep('wrun_b', 'step_9', 9, () => none.write(0, ['x']));
  assert.deepEqual(stepsOf(fake), ['step_1 1', 'step_2 3', 'step_1 1', '']);
  assert.deepEqual(
    fake.seen.map(({ headers }) => headers['x-stream-writer']),
    ['w_step_1', 'w_step_2', undefined, 'w'],
  );
});

test('SDK v4: a stream that a step gets as an argument is written outside of its context, and the delivery identifies the step', async () => {
  const { fake, world } = await fakeWorld();
  const { run, step } = newStep();
  const deliver = (handler: () => Promise<void>) => {
    const headers = { 'content-type': 'application/json', 'x-vqs-queue-name': '__wkf_step_s', 'x-vqs-message-id': `m${fake.seen.length}`, 'x-vqs-message-attempt': '1' };
    return world.createQueueHandler('__wkf_step_', handler)(new Request('http://app/step', { method: 'POST', headers, body: '{}' }));
  };
  let late: Promise<void> | undefined;
  fake.next(startedAnswer(4));
  await deliver(async () => {
    await world.events.create(run, started(step));
    await world.writeToStream('s', run, 'x');
    late = new Promise((resolve) => setImmediate(resolve)).then(() => world.closeStream('s', run));
  });
  await late;
  await deliver(() => world.writeToStream('s', run, 'x'));
  assert.deepEqual(stepsOf(fake), ['', `${step} 4`, `${step} 4`, '']);
});

test('a write is retried after every temporary failure, as the same call', async () => {
  const { fake, world } = await fakeWorld({ retryForMs: 0 });
  const notOurs: Answer = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
  fake.next(drop, unavailable, refusal(500), refusal(429), notOurs);
  await world.writeToStream('s', 'wrun_c', 'x');
  assert.equal(fake.seen.length, 6);
  assert.equal(new Set(fake.seen.map(({ headers }) => headers['idempotency-key'])).size, 1);

  fake.next(drop, unavailable);
  const session = world.streams.createWriteSession('wrun_c', 's', { writerId: 'w' });
  await session.write(7, ['x', 'y']);
  const tries = fake.seen.slice(6).map(({ headers, body }) => [headers['x-stream-writer'], headers['x-stream-sequence'], body.toString('hex')].join());
  assert.deepEqual([tries.length, new Set(tries).size], [3, 1]);

  fake.next(drop, unavailable);
  await world.closeStream('s', 'wrun_c');
  assert.equal(fake.seen.length, 12);
});

test('a permanent failure is thrown immediately, and its step may be completed', async () => {
  const { fake, world } = await fakeWorld();
  const { run, step } = newStep();
  for (const [status, code] of [
    [409, 'stream_closed'],
    [413, 'too_large'],
    [400, 'invalid'],
    [401, 'unauthorized'],
  ] as const) {
    fake.next(refusal(status, code));
    await assert.rejects(
      asStep(run, step, 1, () => world.writeToStream('s', run, 'x')),
      { status, code },
    );
  }
  assert.equal(fake.seen.length, 4);
  await world.events.create(run, completed(step));
});

test('the time for which writes are retried is a setting, and applies to each write separately', async () => {
  const { fake, world } = await fakeWorld({ streamRetryForMs: 0, retryForMs: 60_000 });
  fake.next(unavailable);
  await assert.rejects(world.writeToStream('s', 'wrun_d', 'x'), { status: 503 });
  assert.equal(fake.seen.length, 1);
});

test('the writes of a session that no step opened are retried until they succeed', async () => {
  const { fake, world } = await fakeWorld({ streamRetryForMs: 0 });
  const session = world.streams.createWriteSession('wrun_e', 's', { writerId: 'w' });
  fake.next(drop, unavailable, refusal(500), drop);
  await session.write(0, ['x']);
  fake.next(unavailable);
  await session.close();
  assert.equal(fake.seen.length, 7);

  fake.next(refusal(409, 'stream_closed'));
  await assert.rejects(session.write(1, ['y']), { name: 'StreamError', status: 409 });
});

test('close() ends retries without a limit', async () => {
  const { fake, world } = await fakeWorld();
  const second = held(unavailable);
  fake.next(unavailable, second.answer);
  const write = world.streams.createWriteSession('wrun_f', 's', { writerId: 'w' }).write(0, ['x']);
  await second.arrived;
  const closing = world.close();
  second.release();
  await assert.rejects(write, { name: 'StreamError', status: 503 });
  await closing;
  assert.equal(fake.seen.length, 2);
});

test('a step whose write was given up is not completed, with an error after which both SDKs run it again', async () => {
  const { fake, world } = await fakeWorld({ streamRetryForMs: 0 });
  const { run, step } = newStep();
  for (const give of [() => world.writeToStream('s', run, 'x'), () => world.closeStream('s', run), () => world.streams.createWriteSession(run, 's', { writerId: 'w' }).close()]) {
    fake.next(startedAnswer(1), unavailable);
    await world.events.create(run, started(step));
    await assert.rejects(asStep(run, step, 1, give));
    const before = fake.seen.length;
    const error = await refused(world.events.create(run, completed(step)), {
      name: 'WorkflowWorldError',
      status: 503,
      code: 'STREAM_WRITE_GIVEN_UP',
      message: /not completed and runs again: no 503/,
    });
    assert.ok(isRetryable(error));
    const batch = [{ event: completed('step_other') }, { event: completed(step) }];
    await assert.rejects(world.events.createBatch(run, batch), { code: 'STREAM_WRITE_GIVEN_UP' });
    assert.equal(fake.seen.length, before, 'nothing was sent');

    // The next execution begins with nothing held against it.
    fake.next(startedAnswer(2));
    await world.events.create(run, started(step));
    await world.events.create(run, completed(step));
  }
  const other = newStep();
  fake.next(unavailable);
  await assert.rejects(asStep(run, step, 3, () => world.writeToStream('s', run, 'x')));
  await world.events.create(run, completed(other.step));
  await world.events.create(other.run, completed(step));
  await world.events.create(run, { ...completed(step), eventType: 'step_failed' });
  await world.events.create(run, completed(step));
});

test('a write that an earlier execution gives up late does not affect the running one', async () => {
  const { fake, world } = await fakeWorld({ streamRetryForMs: 0 });
  const { run, step } = newStep();
  fake.next(startedAnswer(1), startedAnswer(2), unavailable);
  await world.events.create(run, started(step));
  await world.events.create(run, started(step));
  await assert.rejects(asStep(run, step, 1, () => world.writeToStream('s', run, 'x')));
  await world.events.create(run, completed(step));
});

test('a step that was started in a batch counts as started', async () => {
  const { fake, world } = await fakeWorld({ streamRetryForMs: 0 });
  const { run, step } = newStep();
  fake.next(unavailable, json(200, { results: [{ status: 200, step: { attempt: 2 } }] }));
  await assert.rejects(asStep(run, step, 1, () => world.writeToStream('s', run, 'x')));
  await world.events.createBatch(run, [{ event: started(step) }]);
  await world.events.create(run, completed(step));
});

test('the completion of a step waits for its writes that are being retried', async () => {
  const { fake, world } = await fakeWorld();
  const { run, step } = newStep();
  const second = held(json(200, {}));
  fake.next(unavailable, second.answer);
  const write = asStep(run, step, 1, () => world.writeToStream('s', run, 'x'));
  await second.arrived;
  const completion = world.events.create(run, completed(step));
  await world.events.create(run, completed('step_of_another'));
  second.release();
  await Promise.all([write, completion]);
  const paths = fake.seen.map(({ url }) => url.split('/').slice(4).join('/'));
  assert.deepEqual(paths, ['streams/s', 'streams/s', 'events', 'events']);
  const ids = fake.seen.slice(2).map(({ body }) => (decode(body) as any).event.correlationId);
  assert.deepEqual(ids, ['step_of_another', step]);
});

test('the completion of a step waits for its writes in progress, and for those that the SDK sends after them', async () => {
  const { fake, world } = await fakeWorld();
  const { run, step } = newStep();
  const first = held(json(200, {}));
  fake.next(first.answer);
  const write = asStep(run, step, 1, async () => {
    await world.streams.write(run, 's', 'x');
    await world.streams.write(run, 's', 'y');
    await world.streams.close(run, 's');
  });
  await first.arrived;
  const completion = world.events.create(run, completed(step));
  await world.events.create(run, completed('step_of_another'));
  first.release();
  await Promise.all([write, completion]);
  assert.deepEqual(
    fake.seen.map(({ url }) => url.split('/').slice(4).join('/')),
    ['streams/s', 'events', 'streams/s', 'streams/s/close', 'events'],
  );
});

test('a step that never stops writing is completed nevertheless', async (t) => {
  const { fake, world } = await fakeWorld();
  const { run, step } = newStep();
  let stop = false;
  const writer = asStep(run, step, 1, async () => {
    while (!stop) await world.streams.write(run, 's', 'x');
  });
  while (fake.seen.length < 3) await new Promise(setImmediate);
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const completion = world.events.create(run, completed(step));
  while (fake.seen.length < 6) await new Promise(setImmediate);
  t.mock.timers.tick(60_000);
  await completion;
  t.mock.timers.reset();
  stop = true;
  await writer;
});

test('a write that is given up while the completion of its step is being retried ends that call', async () => {
  const { fake, world } = await fakeWorld({ streamRetryForMs: 0 });
  const { run, step } = newStep();
  const [first, lost] = [held(unavailable), held(unavailable)];
  fake.next(first.answer, lost.answer);
  const completion = world.events.create(run, completed(step));
  await first.arrived;
  const write = asStep(run, step, 1, () => world.writeToStream('s', run, 'x'));
  await lost.arrived;
  lost.release();
  await assert.rejects(write);
  first.release();
  await assert.rejects(completion, { code: 'STREAM_WRITE_GIVEN_UP' });
  assert.equal(fake.seen.length, 2);
});

test('of more than 10,000 steps the oldest are forgotten', () => {
  const { stepWrites } = part<typeof import('../build/delivery/stepWrites.js')>('delivery/stepWrites');
  const memory = new (stepWrites().constructor as new () => ReturnType<typeof stepWrites>)();
  const error = new Error('lost');
  for (let i = 0; i <= 10_000; i++) memory.gaveUp({ runId: 'r', stepId: `s${i}`, attempt: 1 }, error);
  assert.equal(memory.requireAllStored('r', 's0'), undefined);
  for (const stepId of ['s1', 's10000']) assert.throws(() => memory.requireAllStored('r', stepId), /lost/);
});
