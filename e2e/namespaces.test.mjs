// @ts-check
// Two isolated tenants share one service, with the same names and ids (BR-25).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api } from './lib/api.mjs';
import { App } from './lib/app.mjs';
import { checkEndedRun } from './lib/invariants.mjs';
import { freePort } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const RUNS = 25;
const tokens = { shop: 'token-of-the-shop', blog: 'token-of-the-blog' };

for (const sdk of sdks) {
  test(`SDK ${sdk}: apps of two namespaces with one deployment id run only their own work`, async (t) => {
    const stack = await startStack(t, {
      sdk,
      token: 'token-of-the-default',
      serviceEnv: {
        WORKFLOW_WORLD_NAMESPACES: Object.entries(tokens)
          .map((entry) => entry.join('='))
          .join(','),
      },
    });
    /** @type {Record<string, any>} */
    const tenants = { shop: undefined, blog: undefined };
    for (const name of Object.keys(tenants)) {
      const env = { WORKFLOW_WORLD_TOKEN: tokens[name] };
      const app = new App({ sdk, service: stack.service, port: await freePort(), env });
      t.after(() => app.stop());
      await app.start();
      tenants[name] = { app, api: new Api(stack.service.url, tokens[name]) };
    }

    await Promise.all(
      Object.entries(tenants).map(async ([name, { app, api }]) => {
        const waiting = await app.begin('hookwf', 'the same token');
        const { outcomes } = await app.flood('addition', [20, name.length], RUNS, 10);
        assert.deepEqual(
          outcomes.map((o) => [o.status, o.value]),
          Array(RUNS).fill(['completed', 24]),
        );
        await until('the hook', async () => (await api.hooks(waiting)).length === 1);
        await app.resume('the same token', name);
        assert.deepEqual(await app.outcome(waiting), { status: 'completed', value: name });
        const runIds = outcomes.map((o) => o.runId).concat(waiting);
        for (const runId of runIds) await checkEndedRun(api, runId);
        tenants[name].runIds = new Set(runIds);
      }),
    );

    for (const [name, other] of [
      ['shop', 'blog'],
      ['blog', 'shop'],
    ]) {
      const { api, runIds } = tenants[name];
      assert.deepEqual(new Set((await api.runs()).map((run) => run.runId)), runIds);
      const [foreign] = tenants[other].runIds;
      assert.equal((await api.request(`/v1/runs/${foreign}`)).status, 404);
    }
    assert.deepEqual(await stack.api.runs(), [], 'nor does the default namespace');
    assert.deepEqual(await stack.app.deliveries(), { flow: 0, step: 0 });
    assert.equal((await stack.api.request('/v1/runs', { token: 'nobody' })).status, 401);
  });
}
