// @ts-check
// BR-06: the service makes an app's call, but every second answer is lost. Nothing is done twice: each event is in
// the log once, each step is started and run once, and each chunk is in its stream once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App } from './lib/app.mjs';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { startLossyProxy } from './lib/lossyProxy.mjs';
import { freePort } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

for (const sdk of sdks) {
  test(`SDK ${sdk}: BR-06: every second answer is lost on its way to the app`, async (t) => {
    const stack = await startStack(t, { sdk, deploymentId: 'dpl_direct' });
    const { api, service } = stack;
    const proxy = await startLossyProxy(t, { port: await freePort(), target: service.url });
    const env = { WORKFLOW_WORLD_URL: proxy.url };
    const app = new App({ sdk, service, port: await freePort(), deploymentId: 'dpl_lossy', env });
    t.after(() => app.stop());
    await app.start();

    const completes = async (workflow, args, value, act) => {
      const runId = await app.begin(workflow, ...args);
      await act?.(runId);
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value });
      for (const step of await api.steps(runId)) assert.deepEqual([step.status, step.attempt], ['completed', 1], workflow);
      return { runId, events: await checkEndedRun(api, runId) };
    };
    await Promise.all([
      ...[1, 2, 3].map((n) => completes('par', [n + 3], ((n + 3) * (n + 4)) / 2)),
      completes('seq', [5], 5),
      completes('naps', [1000], 'awake'),
      completes('streamer', [10, 100], 10).then(async ({ runId }) => {
        const [name] = (await api.get(`/v1/runs/${runId}/streams`)).data;
        // The SDK closes the stream in parallel with the run; if the close is retried, the run may end first.
        const info = () => api.get(`/v1/streams/${name}/info`);
        await until('the end of the stream', async () => (await info()).done);
        assert.equal((await info()).tailIndex, 9);
      }),
      completes('hookwf', ['lost'], { v: 1 }, async (runId) => {
        await until('the hook', async () => (await api.hooks(runId)).length === 1);
        await app.resume('lost', { v: 1 });
      }).then(({ events }) => assert.equal(events.filter((e) => e.eventType === 'hook_received').length, 1)),
    ]);
    const before = await app.bodies();
    await completes('longStep', [0], before + 1);
    assert.equal(await app.bodies(), before + 1);
    assert.ok(proxy.lost >= 20, `${proxy.lost} answers were lost`);
    t.diagnostic(`${proxy.lost} answers were lost`);
    await checkQueueEmpty(stack);
  });
}
