// @ts-check
// The number of deliveries of a run. SDK v5 runs steps in the delivery of the workflow, so it needs few, and an exact number of
// them (contract §4.2); with SDK v4, waiting wake-ups are merged. Also: a message without an app.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGate } from './lib/gate.mjs';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { freePort } from './lib/process.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';
import { givenUp } from './lib/warns.mjs';

const serviceEnv = { WORKFLOW_WORLD_DEPLOYMENT_POLICY: 'fail', WORKFLOW_WORLD_DEPLOYMENT_PATIENCE: '2s' };

async function deploymentIsGone({ app }) {
  const { status, error } = await app.outcome(await app.beginOn('dpl_gone', 'addition', 1, 2));
  assert.equal(status, 'failed');
  assert.equal(error.code, 'DEPLOYMENT_MISMATCH');
}

test('deliveries of SDK v5', async (t) => {
  const stack = await startStack(t, { sdk: 'v5', serviceEnv, warns: [givenUp] });
  const { app, api } = stack;

  /** Lets a run end and returns the number of deliveries until none of its messages is left in the queue. */
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

  await t.test('BR-69, policy fail: a run whose deployment has no app fails and says so', () => deploymentIsGone(stack));
});

test('deliveries of SDK v4', async (t) => {
  const appPort = await freePort();
  const gate = await startGate(t, { port: await freePort(), target: `http://127.0.0.1:${appPort}` });
  const stack = await startStack(t, { sdk: 'v4', serviceEnv, appPort, appEnv: { WORKFLOW_BASE_URL: gate.url }, warns: [givenUp] });
  const { app, api } = stack;

  // Checks that the client still predicts what the SDK queues: otherwise nothing would fail, but each step would take
  // two more requests.
  await t.test('steps in a row: each message is sent with its event', async () => {
    const requests = async (route) => {
      const { text } = await api.request('/metrics');
      const counts = text.matchAll(new RegExp(`^world_redis_http_request_seconds_count\\{[^}]*route="${route}"[^}]*\\} (\\d+)$`, 'gm'));
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const eventsRoute = '/v1/runs/:runId/events';
    const [bundles, queued, events] = [await requests('/v1/calls'), await requests('/v1/queue'), await requests(eventsRoute)];
    const runId = await app.begin('seq', 10);
    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 10 });
    assert.equal((await requests('/v1/queue')) - queued, 21, 'one to start, two a step');
    assert.ok((await requests('/v1/calls')) - bundles >= 20, 'two a step, each with its event');
    // Three per step and three of the run: the run_started of the wake-ups, ten more, is answered from the preload.
    // On a busy machine the service does not wait for the preload, so some of them may be requested.
    const asked = (await requests(eventsRoute)) - events;
    assert.ok(asked >= 33 && asked <= 37, `${asked} events`);
  });

  /** A run that waits for its hook, and the wake-up of a first payload, which is held back with its preload. */
  const heldBack = async (token) => {
    const runId = await app.begin('collect', token);
    await until('the hook', async () => (await api.hooks(runId)).length === 1);
    await checkQueueEmpty(stack);
    const held = gate.holdFlow();
    await app.resume(token, { n: 1 });
    const { headers, release } = await held;
    assert.ok(Number(headers['x-world-redis-attached']) > 0, 'the wake-up brings the log along');
    return { runId, release };
  };

  await t.test('an event after a preload was read is not lost: its own wake-up follows', async () => {
    const { runId, release } = await heldBack('ahead');
    await app.resume('ahead', { n: 2, last: true });
    release();
    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: [1, 2] });
    await checkEndedRun(api, runId);
    await checkQueueEmpty(stack);
  });

  await t.test('a run that is cancelled after the preload of its wake-up was read stays cancelled, and the wake-up is done', async () => {
    const { runId, release } = await heldBack('gone');
    await app.cancel(runId);
    release();
    assert.equal((await app.outcome(runId)).status, 'cancelled');
    await checkEndedRun(api, runId);
    await checkQueueEmpty(stack);
  });

  await t.test('fifty steps side by side, six times: 12 of flows at most, and no step more than twice', async (t) => {
    for (let i = 0; i < 6; i++) {
      const before = await app.deliveries();
      const runId = await app.begin('par', 50);
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 1275 });
      await checkEndedRun(api, runId);
      await checkQueueEmpty(stack);
      const { flow, step } = await app.deliveries();
      t.diagnostic(`${flow - before.flow} deliveries of flows, ${step - before.step} of steps`);
      // A replay that read the log before a step's end queues the step once more; the SDK then sees that it is done.
      assert.ok(step - before.step <= 100, `${step - before.step} step deliveries`);
      assert.ok(flow - before.flow <= 12, `${flow - before.flow} flow deliveries`);
    }
  });

  await t.test('BR-69, policy fail: a run whose deployment has no app fails and says so', () => deploymentIsGone(stack));
});
