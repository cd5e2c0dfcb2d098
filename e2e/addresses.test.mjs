// @ts-check
// Two apps with one address: each run continues only in its own app, and waits, uncharged, until that one answers.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { App } from './lib/app.mjs';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { appFolder } from './lib/paths.mjs';
import { freePort, portOf } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const warns = [/another deployment answers at the address/, /another app answers at the address/, /two live deployments have the same address/];

/**
 * Another app that registers `url` as its address.
 *
 * @param {import('node:test').TestContext} t
 * @param {any} stack
 * @param {{ sdk: string, deploymentId?: string, url: string, port?: number }} options
 */
async function startSecond(t, stack, { sdk, deploymentId, url, port }) {
  const app = new App({ sdk, service: stack.service, port: port ?? (await freePort()), deploymentId, env: { WORKFLOW_BASE_URL: url } });
  t.after(() => app.stop());
  await app.start();
  return app;
}

/** The run has been refused and waits: nothing has happened in it, and nothing is charged. */
async function waits(api, runId) {
  const messages = await until('the refused message to wait', async () => {
    const { data } = await api.get(`/v1/runs/${runId}/messages`);
    return data.length > 0 && /answered 421/.test(data[0].reason ?? '') && data;
  });
  assert.deepEqual([messages[0].attempt, messages[0].failed], [1, 0]);
  assert.deepEqual(
    (await api.events(runId)).map((e) => e.eventType),
    ['run_created'],
  );
}

/** The warnings that another process of an app gets with its registration. */
async function warningsFor(api, app) {
  const registration = { ...app, nonce: 'of-another-process', leaseSeconds: 90 };
  const { status, body } = await api.request('/v1/apps', { method: 'POST', body: JSON.stringify(registration) });
  assert.equal(status, 200);
  return (body.warnings ?? []).map((w) => w.code);
}

for (const sdk of sdks) {
  test(`SDK ${sdk}: an app that registers the address of another deployment has its runs wait until it answers there`, async (t) => {
    const stack = await startStack(t, { sdk, deploymentId: 'shop', warns });
    const { app, api } = stack;
    const second = await startSecond(t, stack, { sdk, deploymentId: 'cont', url: app.url });
    const runId = await second.begin('seq', 3);
    await waits(api, runId);
    const own = await app.begin('seq', 2);
    assert.deepEqual(await app.outcome(own), { status: 'completed', value: 2 }, 'the app that answers is not held up');
    await until('the warning', async () => (await warningsFor(api, { baseUrl: app.url, deploymentId: 'cont', sdk })).includes('other_app'));
    const { data: apps } = await api.get('/v1/apps');
    assert.deepEqual(apps.map((a) => [a.deploymentId, a.sharedWith]).sort(), [
      ['cont', 'shop'],
      ['shop', 'cont'],
    ]);

    await app.stop();
    await second.stop();
    const right = await startSecond(t, stack, { sdk, deploymentId: 'cont', url: app.url, port: Number(new URL(app.url).port) });
    assert.deepEqual(await right.outcome(runId), { status: 'completed', value: 3 });
    await checkEndedRun(api, runId);
    await checkQueueEmpty(stack);
  });

  test(`SDK ${sdk}: two apps without a deployment id are told apart by their workflows`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'world-redis-'));
    t.after(() => rmSync(folder, { recursive: true }));
    symlinkSync(join(appFolder(sdk), 'node_modules'), join(folder, 'node_modules'));
    mkdirSync(join(folder, '.well-known/workflow/v1'), { recursive: true });
    const manifest = { workflows: { 'ship.ts': { ship: { workflowId: 'workflow//./workflows/ship//ship' } } } };
    writeFileSync(join(folder, '.well-known/workflow/v1/manifest.json'), JSON.stringify(manifest));
    const stack = await startStack(t, { sdk, appFolder: folder, warns });
    const { app, api } = stack;
    const second = await startSecond(t, stack, { sdk, url: app.url });
    const runId = await second.begin('seq', 3);
    await waits(api, runId);
    const workflows = ['workflow//./workflows/other//other'];
    await until('the warning', async () => (await warningsFor(api, { baseUrl: app.url, deploymentId: 'dpl_world-redis', sdk, workflows })).includes('other_app'));

    await app.stop();
    await second.stop();
    const right = await startSecond(t, stack, { sdk, url: app.url, port: Number(new URL(app.url).port) });
    assert.deepEqual(await right.outcome(runId), { status: 'completed', value: 3 });
    await checkEndedRun(api, runId);
    await checkQueueEmpty(stack);
  });

  test(`SDK ${sdk}: behind a balancer with two deployments, the runs of both complete`, async (t) => {
    const ports = [];
    let next = 0;
    const balancer = createServer((client) => {
      const server = connect(ports[next++ % ports.length], '127.0.0.1');
      client.pipe(server).pipe(client);
      for (const [one, other] of [
        [client, server],
        [server, client],
      ]) {
        one.on('error', () => other.destroy());
      }
    });
    await new Promise((done) => balancer.listen(0, '127.0.0.1', () => done(undefined)));
    t.after(() => balancer.close());
    const url = `http://127.0.0.1:${portOf(balancer)}`;
    const port = await freePort();
    ports.push(port);
    const stack = await startStack(t, { sdk, deploymentId: 'old', appPort: port, appEnv: { WORKFLOW_BASE_URL: url }, warns });
    const { app, api } = stack;
    const second = await startSecond(t, stack, { sdk, deploymentId: 'new', url });
    ports.push(Number(new URL(second.url).port));
    const runs = await Promise.all([app, second].flatMap((one) => Array.from({ length: 5 }, () => one.begin('seq', 4))));
    for (const runId of runs) {
      assert.deepEqual(await app.outcome(runId, 60_000), { status: 'completed', value: 4 });
      await checkEndedRun(api, runId);
    }
    await checkQueueEmpty(stack);
  });
}
