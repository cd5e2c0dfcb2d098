// The service goes away in the middle of a long step, another one takes its place at once, and the app lives on:
// the step's body runs once (BR-30).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

for (const sdk of sdks) {
  // The second step is longer than it takes to notice that a worker has gone, so that it still runs then.
  for (const [how, length, end] of [
    ['is stopped, and its grace period is shorter than the step', 8_000, (service) => service.stop()],
    ['is killed', 22_000, (service) => service.kill()],
  ]) {
    test(`SDK ${sdk}: the service ${how}: the body of a long step runs once`, async (t) => {
      const stack = await startStack(t, { sdk, token: 'secret', serviceEnv: { WORKFLOW_WORLD_SHUTDOWN_GRACE: '1s' } });
      const { app, api, service } = stack;
      const runId = await app.begin('longStep', length);
      await until('the step to run', async () => (await app.bodies()) === 1);
      const before = await app.deliveries();

      await end(service);
      await service.start();

      await until('the message to come again', async () => total(await app.deliveries()) > total(before), { timeout: 40_000 });
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 1 });
      assert.equal(await app.bodies(), 1);
      const events = await checkEndedRun(api, runId);
      assert.equal(events.filter((e) => e.eventType === 'step_started').length, 1);
      await checkQueueEmpty(stack);
    });
  }
}

const total = ({ flow, step }) => flow + step;
