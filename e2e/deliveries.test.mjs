// SDK v5 runs steps where it runs the workflow, so a run needs few deliveries, and exactly so many (contract §4.2).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

test('deliveries of SDK v5', async (t) => {
  const stack = await startStack(t, { sdk: 'v5' });
  const { app, api } = stack;

  /** Lets a run end and returns how many deliveries it took until nothing of it is left in the queue. */
  const deliveriesOf = async (workflow, args, expected, act) => {
    const before = (await app.deliveries()).flow;
    const runId = await app.begin(workflow, ...args);
    await act?.(runId);
    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: expected });
    await checkEndedRun(api, runId);
    await checkQueueEmpty(stack);
    return (await app.deliveries()).flow - before;
  };

  await t.test('one step: 1', async () => assert.equal(await deliveriesOf('addition', [1, 2], 3), 1));
  await t.test('three steps in a row: 1', async () => assert.equal(await deliveriesOf('seq', [3], 3), 1));
  await t.test('five steps side by side: 3', async () => assert.equal(await deliveriesOf('par', [5], 15), 3));
  await t.test('a sleep: 2', async () => assert.equal(await deliveriesOf('naps', [1500], 'awake'), 2));
  await t.test('a stream: 1', async () => assert.equal(await deliveriesOf('streamer', [3, 10], 3), 1));
  await t.test('a step that fails once: 2', async () => assert.equal(await deliveriesOf('flaky', [2], 2), 2));
  await t.test('a hook: 2', async () => {
    const resume = async (runId) => {
      await until('the hook', async () => (await api.hooks(runId)).length === 1);
      await app.resume('count', { v: 1 });
    };
    assert.equal(await deliveriesOf('hookwf', ['count'], { v: 1 }, resume), 2);
  });
});
