// An afternoon of a house in the middle of its upgrade: apps of both SDKs on one service and one Redis, busy at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App } from './lib/app.mjs';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { freePort } from './lib/process.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const RUNS = 150;

test('an app of SDK v4 and one of v5 share a service, and neither sees anything of the other', async (t) => {
  const stack = await startStack(t, { sdk: 'v4', deploymentId: 'dpl_old' });
  const { api, service } = stack;
  const apps = { dpl_old: stack.app, dpl_new: new App({ sdk: 'v5', service, port: await freePort(), deploymentId: 'dpl_new' }) };
  t.after(() => apps.dpl_new.stop());
  await apps.dpl_new.start();

  const afternoon = async ([deploymentId, app]) => {
    const token = `of ${deploymentId}`;
    const waiting = await app.begin('hookwf', token);
    const [adding, parallel, sleeping] = await Promise.all([
      app.flood('addition', [20, 22], RUNS, 10),
      app.flood('par', [4], 20, 4),
      app.flood('naps', [300], 10, 5),
    ]);
    await until('the hook', async () => (await api.hooks(waiting)).length === 1);
    await app.resume(token, deploymentId);
    assert.deepEqual(await app.outcome(waiting), { status: 'completed', value: deploymentId });
    return [
      [adding, 42, RUNS],
      [parallel, 10, 20],
      [sleeping, 'awake', 10],
    ].flatMap(([{ outcomes }, value, count]) => {
      assert.deepEqual(outcomes.map((o) => [o.status, o.value]), Array(count).fill(['completed', value]), deploymentId);
      return outcomes.map((o) => o.runId);
    }).concat(waiting);
  };
  const runs = await Promise.all(Object.entries(apps).map(afternoon));

  await t.test('every run stayed with its deployment and its spec version, with a clean log', async () => {
    const specs = { dpl_old: 3, dpl_new: 7 };
    for (const [i, deploymentId] of Object.keys(apps).entries()) {
      assert.equal(new Set(runs[i]).size, RUNS + 31);
      for (const runId of runs[i]) {
        const run = await api.run(runId);
        assert.deepEqual([run.deploymentId, run.specVersion], [deploymentId, specs[deploymentId]]);
        await checkEndedRun(api, runId);
      }
    }
  });

  await t.test('no message went to the other app: v5 has no route for steps, and failed deliveries would show', async () => {
    await checkQueueEmpty(stack);
    const { step } = await apps.dpl_new.deliveries();
    assert.equal(step, 0);
    assert.ok((await apps.dpl_old.deliveries()).step >= RUNS + 20 * 4);
    assert.doesNotMatch(service.tail, /level=(WARN|ERROR)/);
  });

  await t.test('nothing is left over', async () => {
    assert.equal((await api.runs()).length, 2 * (RUNS + 31));
    assert.deepEqual(await api.runs('running'), []);
    assert.deepEqual(await api.runs('pending'), []);
    assert.deepEqual(await api.all('/v1/hooks'), []);
  });
});
