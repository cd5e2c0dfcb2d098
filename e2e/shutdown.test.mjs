// @ts-check
// The service, or the app, stops during a long step and restarts immediately: the step's body runs once (BR-30). The
// tests mostly wait, so some of them run at the same time.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startIdleProxy } from './lib/idleProxy.mjs';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { freePort } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';
import { cutAtStop, replicaGone } from './lib/warns.mjs';

describe('a long step', { concurrency: 3 }, () => {
  for (const sdk of sdks) {
    // The second step is longer than it takes to notice a lost worker, so that it still runs then.
    for (const [how, length, end] of [
      ['is stopped, and its grace period is shorter than the step', 8_000, (service) => service.stop()],
      ['is killed', 22_000, (service) => service.kill()],
    ]) {
      test(`SDK ${sdk}: the service ${how}: the body runs once`, (t) => serviceGoes(t, sdk, length, end));
    }
    test(`SDK ${sdk}: a proxy cuts idle connections (BR-20): the body runs once`, (t) => proxyCuts(t, sdk));
  }
  test('SDK v4: the app is stopped: it ends its step and the run continues', (t) => appStops(t, 'v4'));
  test('SDK v4: the service is stopped, and the step takes a minute: the body runs once', (t) => serviceGoes(t, 'v4', 60_000, (service) => service.stop()));
});

async function serviceGoes(t, sdk, length, end) {
  const stack = await startStack(t, { sdk, token: 'secret', serviceEnv: { WORKFLOW_WORLD_SHUTDOWN_GRACE: '1s' }, warns: [cutAtStop, replicaGone] });
  const { app, api, service } = stack;
  const runId = await app.begin('longStep', length);
  await until('the step to run', async () => (await app.bodies()) === 1);
  const before = await app.deliveries();

  await end(service);
  await service.start();

  await until('the message to come again', async () => total(await app.deliveries()) > total(before), { timeout: 40_000 });
  assert.deepEqual(await app.outcome(runId, length + 40_000), { status: 'completed', value: 1 });
  assert.equal(await app.bodies(), 1);
  await checkOneStart(stack, api, runId);
}

async function appStops(t, sdk) {
  const stack = await startStack(t, { sdk });
  const { app, api } = stack;
  const runId = await app.begin('longStep', 8_000);
  await until('the step to run', async () => (await app.bodies()) === 1);

  assert.equal(await app.stop(), 0);
  await app.start();

  assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 1 });
  assert.equal(await app.bodies(), 0, 'the new process has not run it');
  await checkOneStart(stack, api, runId);
}

async function proxyCuts(t, sdk) {
  const [port, appPort] = [await freePort(), await freePort()];
  const proxy = await startIdleProxy(t, { port, target: appPort, idleMs: 2_000 });
  const stack = await startStack(t, { sdk, appPort, appEnv: { WORKFLOW_BASE_URL: proxy.url } });
  const { app, api } = stack;
  const runId = await app.begin('longStep', 9_000);
  assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 1 });
  assert.equal(await app.bodies(), 1);
  assert.ok(proxy.cuts >= 2, `${proxy.cuts} cuts`);
  await checkOneStart(stack, api, runId);
}

async function checkOneStart(stack, api, runId) {
  const events = await checkEndedRun(api, runId);
  assert.equal(events.filter((e) => e.eventType === 'step_started').length, 1);
  await checkQueueEmpty(stack);
}

const total = ({ flow, step }) => flow + step;
