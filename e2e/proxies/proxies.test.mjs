// @ts-check
// The proxies of docs/deploy.md with their files in deploy/proxies, in front of the service and of an app: `make proxies`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api } from '../lib/api.mjs';
import { App } from '../lib/app.mjs';
import { freePort } from '../lib/process.mjs';
import { RedisServer } from '../lib/redis.mjs';
import { sdks } from '../lib/sdks.mjs';
import { Service } from '../lib/service.mjs';
import { ask, startProxy } from './proxy.mjs';

const token = 'a-token-behind-a-proxy';
const bearer = { authorization: `Bearer ${token}` };

for (const kind of /** @type {const} */ (['nginx', 'caddy'])) {
  test(`${kind} in front of the service and of an app`, async (t) => {
    const redis = await RedisServer.start();
    t.after(() => redis.stop());
    const ports = { service: await freePort(), app: await freePort() };
    const proxy = await startProxy(t, kind, ports);
    const service = new Service({ redis, token, port: ports.service, env: { WORKFLOW_WORLD_APP_CA: proxy.ca } });
    t.after(async () => assert.equal(await service.stop(), 0));
    await service.start();
    const api = new Api(service.url, token);

    for (const sdk of sdks) {
      await t.test(`SDK ${sdk}`, async (t) => {
        const app = new App({
          ...{ sdk, port: ports.app, deploymentId: `dpl_${sdk}` },
          service: { clientEnv: { WORKFLOW_WORLD_URL: proxy.urls.service, WORKFLOW_WORLD_TOKEN: token } },
          env: { WORKFLOW_BASE_URL: proxy.urls.app, NODE_EXTRA_CA_CERTS: proxy.ca },
        });
        t.after(async () => assert.equal(await app.stop(), 0));
        await app.start();

        await t.test('a run: calls and deliveries go through the proxy', async () => {
          const runId = await app.begin('par', 3);
          assert.equal((await app.outcome(runId)).status, 'completed');
          const log = await proxy.log();
          assert.match(log, /\/v1\/runs/);
          assert.match(log, /\/\.well-known\/workflow\/v1\/flow/);
        });

        await t.test('a body of 20 MB', async () => {
          const runId = await app.begin('payloads', 1, 20_000_000, false);
          assert.deepEqual((await app.outcome(runId, 120_000)).value, { same: true, characters: 20_000_000 });
        });

        await t.test('a reader of a live stream gets its first chunk while the step writes', async () => {
          const runId = await app.begin('ticker', 10, 100);
          const response = await fetch(`${app.url}/stream/${runId}`, { signal: AbortSignal.timeout(60_000) });
          const seen = [];
          let statusAtFirst;
          for await (const bytes of response.body ?? []) {
            statusAtFirst ??= (await api.run(runId)).status;
            seen.push(...bytes);
          }
          assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
          assert.equal(statusAtFirst, 'running');
        });

        await t.test('many calls at once go over a WebSocket', async () => {
          const { outcomes } = await app.flood('par', [3], 40, 10);
          assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(['completed']));
        });
      });
    }

    await t.test('the client of each app had a socket of its own', async () => {
      // A socket is in the log once it has ended, with its app.
      const lines = (await proxy.log()).split('\n').filter((line) => /"GET \/v1\/calls |"GET".*"\/v1\/calls"/.test(line));
      assert.ok(lines.length >= sdks.length, lines.join('\n'));
      for (const line of lines) assert.match(line, /" 101 |"Sec-Websocket-Accept"/); // nginx, Caddy
    });

    await t.test('a handshake needs the token', async () => {
      const headers = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'd29ybGQtcmVkaXMtdGVzdA==',
        'sec-websocket-protocol': 'world-redis.calls.1',
      };
      assert.equal((await ask(proxy, `${proxy.urls.service}/v1/calls`, { headers: { ...headers, ...bearer } })).status, 101);
      assert.equal((await ask(proxy, `${proxy.urls.service}/v1/calls`, { headers })).status, 401);
    });

    await t.test('the proxy makes no caller a local one: no call without the token, and no metrics', async () => {
      assert.equal((await ask(proxy, `${proxy.urls.service}/v1/runs`)).status, 401);
      assert.equal((await ask(proxy, `${proxy.urls.service}/v1/runs`, { headers: bearer })).status, 200);
      assert.equal((await ask(proxy, `${proxy.urls.service}/metrics`, { name: 'world.example' })).status, 403);
    });
  });
}
