/** A message that is delivered again while this process still works on it (BR-30): the service was restarted, or the connection broke. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientEntry, createWorld } from './helpers/client.js';

const FLOW = '__wkf_workflow_w';
const STEP = '__wkf_step_s';
type Create = typeof createWorld;

let ids = 0;

/** A handler whose calls end when the test says so, and the deliveries of one message to it. */
function setUp(queueName: string, message: object = { runId: 'r' }, create: Create[] = [createWorld]) {
  const messageId = `msg_turn_${ids++}`;
  const calls: { attempt: number; end: (result?: unknown) => void; fail: (error: Error) => void }[] = [];
  const waiting: (() => void)[] = [];
  const handles = create.map((make) =>
    make({ token: '', signingKey: '' }).createQueueHandler(queueName === FLOW ? '__wkf_workflow_' : '__wkf_step_', (_message, { attempt }) => {
      const result = new Promise((end, fail) => calls.push({ attempt, end, fail }));
      for (const wake of waiting.splice(0)) wake();
      return result;
    }),
  );
  const deliver = async (attempt: number, { bundle = 0, signal }: { bundle?: number; signal?: AbortSignal } = {}) => {
    const headers = { 'x-vqs-queue-name': queueName, 'x-vqs-message-id': messageId, 'x-vqs-message-attempt': String(attempt) };
    const init = { method: 'POST', headers, body: JSON.stringify(message), ...(signal && { signal }) };
    const answer = await (handles[bundle] as (r: Request) => Promise<Response>)(new Request('http://app/', init));
    return [answer.status, await answer.json()];
  };
  /** The n-th call of the handler, from 0, when it has begun. */
  const call = async (n: number) => {
    while (calls.length <= n) await new Promise<void>((wake) => waiting.push(wake));
    return calls[n] as (typeof calls)[number];
  };
  return { deliver, calls, call };
}

/** Long enough for everything that could go on without the test's doing. */
const settled = () => new Promise((done) => setTimeout(done, 20));

test('a step that is delivered again runs once, and both deliveries get its answer', async () => {
  for (const result of [undefined, { timeoutSeconds: 7 }]) {
    const { deliver, calls, call } = setUp(STEP);
    const first = deliver(1);
    const { end } = await call(0);
    const [second, third] = [deliver(2), deliver(2)];
    await settled();
    end(result);
    const answer = [200, result ?? { ok: true }];
    assert.deepEqual(await Promise.all([first, second, third]), [answer, answer, answer]);
    assert.equal(calls.length, 1);
  }
});

test('the same holds for a step of v5, which is part of a flow', async () => {
  const { deliver, calls, call } = setUp(FLOW, { runId: 'r', stepId: 'step_1' });
  const both = [deliver(1), deliver(2)];
  (await call(0)).end();
  assert.deepEqual(await Promise.all(both), [
    [200, { ok: true }],
    [200, { ok: true }],
  ]);
  assert.equal(calls.length, 1);
});

test('a handler continues after its connection has broken, and the next delivery gets its result', async () => {
  const { deliver, calls, call } = setUp(STEP);
  const connection = new AbortController();
  const first = deliver(1, { signal: connection.signal });
  const { end } = await call(0);
  connection.abort();
  const second = deliver(2);
  await settled();
  end({ timeoutSeconds: 3 });
  assert.deepEqual(await second, [200, { timeoutSeconds: 3 }]);
  await first;
  assert.equal(calls.length, 1);
});

test('a wake-up that is delivered again waits for its turn and then runs: newer ones may have been merged into it', async () => {
  const { deliver, calls, call } = setUp(FLOW);
  const first = deliver(1);
  const { end } = await call(0);
  const second = deliver(2);
  await settled();
  assert.equal(calls.length, 1, 'they do not overlap');
  end({ timeoutSeconds: 60 });
  assert.deepEqual(await first, [200, { timeoutSeconds: 60 }]);
  const next = await call(1);
  assert.equal(next.attempt, 2);
  next.end();
  assert.deepEqual(await second, [200, { ok: true }]);
});

test('where the first one failed the second runs, and a third waits for that one', async () => {
  const { deliver, calls, call } = setUp(STEP);
  const first = deliver(1);
  const { fail } = await call(0);
  const [second, third] = [deliver(2), deliver(2)];
  fail(new Error('the service is away'));
  assert.deepEqual(await first, [500, { error: 'Error: the service is away' }]);
  const next = await call(1);
  await settled();
  next.end();
  assert.deepEqual(await Promise.all([second, third]), [
    [200, { ok: true }],
    [200, { ok: true }],
  ]);
  assert.equal(calls.length, 2);
});

test('a delivery after the end of an earlier one runs: the earlier answer is not reused', async () => {
  const { deliver, calls, call } = setUp(STEP);
  for (const attempt of [1, 2]) {
    const answer = deliver(attempt);
    (await call(attempt - 1)).end();
    assert.deepEqual(await answer, [200, { ok: true }]);
  }
  assert.equal(calls.length, 2);
});

test('different messages do not wait for one another', async () => {
  const [one, two] = [setUp(STEP), setUp(STEP)];
  const answers = [one.deliver(1), two.deliver(1)];
  const begun = [await one.call(0), await two.call(0)];
  for (const { end } of begun) end();
  assert.deepEqual(await Promise.all(answers), [
    [200, { ok: true }],
    [200, { ok: true }],
  ]);
});

test('two copies of the client in one process share their state', async () => {
  const cached = Object.keys(require.cache).filter((name) => name.startsWith(clientEntry.replace('index.js', '')));
  for (const name of cached) delete require.cache[name];
  const copy = (require(clientEntry) as { createWorld: Create }).createWorld;
  assert.notEqual(copy, createWorld);
  const { deliver, calls, call } = setUp(STEP, {}, [createWorld, copy]);
  const both = [deliver(1), deliver(2, { bundle: 1 })];
  (await call(0)).end();
  assert.deepEqual(await Promise.all(both), [
    [200, { ok: true }],
    [200, { ok: true }],
  ]);
  assert.equal(calls.length, 1);
});
