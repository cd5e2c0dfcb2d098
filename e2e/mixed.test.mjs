// @ts-check
// During an upgrade: apps of three generations of the SDK work at the same time with one service and one Redis.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App } from './lib/app.mjs';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { checkEndedLegacyRun } from './lib/legacy.mjs';
import { freePort } from './lib/process.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

/** Each app does these; together they are 200 runs. */
const FLOODS = [
  { workflow: 'addition', args: [20, 22], value: 42, steps: 1, count: 169, atOnce: 6 },
  { workflow: 'par', args: [4], value: 10, steps: 4, count: 20, atOnce: 2 },
  { workflow: 'naps', args: [300], value: 'awake', steps: 0, count: 10, atOnce: 3 },
];
const RUNS = 200;
const STEPS = FLOODS.reduce((sum, { steps, count }) => sum + steps * count, 0);

/** The apps by their deployments. Spec 1 is from before runs had a spec version. */
const APPS = {
  dpl_beta: { sdk: 'v4beta', spec: undefined, check: checkEndedLegacyRun },
  dpl_old: { sdk: 'v4', spec: 3, check: checkEndedRun },
  dpl_new: { sdk: 'v5', spec: 7, check: checkEndedRun },
};

test('apps of SDK 4.0.1 beta, v4 and v5 share a service, and none sees data of another', async (t) => {
  const stack = await startStack(t, { sdk: APPS.dpl_old.sdk, deploymentId: 'dpl_old' });
  const { api, service } = stack;
  const apps = { dpl_old: stack.app };
  for (const deploymentId of ['dpl_beta', 'dpl_new']) {
    apps[deploymentId] = new App({ sdk: APPS[deploymentId].sdk, service, port: await freePort(), deploymentId });
    t.after(() => apps[deploymentId].stop());
    await apps[deploymentId].start();
  }

  await t.test('only the one from before event sourcing has the calls of that time', async () => {
    for (const [deploymentId, { sdk }] of Object.entries(APPS)) {
      assert.deepEqual(await apps[deploymentId].legacyCalls(), Array(3).fill(sdk === 'v4beta'), deploymentId);
    }
  });

  const afternoon = async ([deploymentId, app]) => {
    const token = `of ${deploymentId}`;
    const waiting = await app.begin('hookwf', token);
    const floods = await Promise.all(FLOODS.map(({ workflow, args, count, atOnce }) => app.flood(workflow, args, count, atOnce)));
    await until('the hook', async () => (await api.hooks(waiting)).length === 1);
    await app.resume(token, deploymentId);
    assert.deepEqual(await app.outcome(waiting), { status: 'completed', value: deploymentId });
    const runIds = floods.flatMap(({ outcomes }, i) => {
      assert.deepEqual(
        outcomes.map((o) => [o.status, o.value]),
        Array(FLOODS[i].count).fill(['completed', FLOODS[i].value]),
        deploymentId,
      );
      return outcomes.map((o) => o.runId);
    });
    return [deploymentId, [...runIds, waiting]];
  };
  const runs = Object.fromEntries(await Promise.all(Object.entries(apps).map(afternoon)));

  await t.test('every run stayed with its deployment and its spec version, with a clean log', async () => {
    for (const [deploymentId, { spec, check }] of Object.entries(APPS)) {
      assert.equal(new Set(runs[deploymentId]).size, RUNS);
      for (const runId of runs[deploymentId]) {
        const run = await api.run(runId);
        assert.deepEqual([run.deploymentId, run.specVersion], [deploymentId, spec]);
        // The SDK's own harness gives up on a run that is pending for longer.
        assert.ok(run.startedAt - run.createdAt < 15_000, `${runId} was picked up after ${run.startedAt - run.createdAt} ms`);
        await check(api, runId);
      }
    }
  });

  await t.test('no message went to another app: v5 has no route for steps, and failed deliveries would show', async () => {
    await checkQueueEmpty(stack);
    const stepsOf = async (deploymentId) => (await apps[deploymentId].deliveries()).step;
    assert.equal(await stepsOf('dpl_new'), 0);
    assert.ok((await stepsOf('dpl_old')) >= STEPS);
    assert.ok((await stepsOf('dpl_beta')) >= STEPS);
    assert.doesNotMatch(service.tail, /level=(WARN|ERROR)/);
  });

  await t.test('nothing is left over', async () => {
    assert.equal((await api.runs()).length, 3 * RUNS);
    assert.deepEqual(await api.runs('running'), []);
    assert.deepEqual(await api.runs('pending'), []);
    assert.deepEqual(await api.all('/v1/hooks'), []);
  });
});
