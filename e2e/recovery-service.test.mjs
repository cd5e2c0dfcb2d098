// @ts-check
// The service or its Redis goes down under load; every run continues by itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';
import { redisAway, replicaGone } from './lib/warns.mjs';

// SDK v5 watches a step that another delivery runs, with a message that is due when that delivery's lease ends. With
// the usual 860 s, such messages would outlast the test.
const appEnv = { WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS: '10' };

/** Starts `count` runs of the workflow that uses a bit of everything. */
async function startBusyRuns(app, count, rounds) {
  return Promise.all(Array.from({ length: count }, () => app.begin('busy', rounds)));
}

async function checkBusyRuns(stack, runIds, rounds) {
  const { app, api } = stack;
  for (const runId of runIds) {
    assert.deepEqual(await app.outcome(runId, 60_000), { status: 'completed', value: rounds * 120 }, runId);
    await checkEndedRun(api, runId);
  }
  await checkQueueEmpty(stack);
}

const anyStepDone = (api, runIds) => async () => {
  const events = await Promise.all(runIds.map((runId) => api.events(runId)));
  return events.flat().some((e) => e.eventType === 'step_completed');
};

for (const sdk of sdks) {
  test(`SDK ${sdk}: the service is stopped under load and started again: every run completes`, async (t) => {
    const stack = await startStack(t, { sdk, appEnv });
    const runIds = await startBusyRuns(stack.app, 10, 8);
    await until('work to be under way', anyStepDone(stack.api, runIds));

    assert.equal(await stack.service.stop(), 0, 'the service stops in good order');
    await stack.service.start();

    await checkBusyRuns(stack, runIds, 8);
  });

  test(`SDK ${sdk}: the service is killed under load and started again: every run completes`, async (t) => {
    const stack = await startStack(t, { sdk, appEnv, warns: [replicaGone] });
    const runIds = await startBusyRuns(stack.app, 10, 8);
    await until('work to be under way', anyStepDone(stack.api, runIds));

    await stack.service.kill();
    await stack.service.start();

    await checkBusyRuns(stack, runIds, 8);
  });

  test(`SDK ${sdk}: Redis is away for five seconds under load: everything continues by itself`, async (t) => {
    const stack = await startStack(t, { sdk, appEnv, warns: [redisAway, replicaGone] });
    const runIds = await startBusyRuns(stack.app, 10, 8);
    await until('work to be under way', anyStepDone(stack.api, runIds));

    await stack.redis.pause();
    const refused = await stack.api.request(`/v1/runs/${runIds[0]}`);
    assert.equal(refused.status, 503, 'without Redis the service says so');
    assert.equal(refused.body.error.code, 'unavailable');
    await delay(5000);
    await stack.redis.resume();

    await checkBusyRuns(stack, runIds, 8);
  });

  test(`SDK ${sdk}: one of two services is killed under load: the other one takes over its work`, async (t) => {
    const stack = await startStack(t, { sdk, appEnv, warns: [replicaGone] });
    const second = await stack.startSecondService();
    const runIds = await startBusyRuns(stack.app, 10, 8);
    await until('work to be under way', anyStepDone(stack.api, runIds));

    await second.kill();

    await checkBusyRuns(stack, runIds, 8);
  });
}
