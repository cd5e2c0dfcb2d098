/** Where an app is registered that says nothing of its address: real servers, processes and threads. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { part } from './helpers/client.js';
import { Fake, json } from './helpers/fake.js';
import { PRELUDE, WorkflowApp } from './helpers/workflowApp.js';

const { decode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const stopping: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stopping.splice(0)) await stop();
});

/** An app beside a service that keeps what is registered. */
async function appWith(script: string, env: Record<string, string> = {}) {
  const service = await Fake.start(json(200, {}));
  const app = new WorkflowApp(script, { WORKFLOW_WORLD_URL: service.url, ...env });
  stopping.push(
    () => app.stop(),
    () => service.stop(),
  );
  // The process of the test is above the app's, so the service is asked, too, whether it passes requests on to the app.
  const calls = () => service.seen.filter(({ url }) => url.startsWith('/v1/')).map(({ url, body }) => `${url} ${(decode(body) as { baseUrl: string }).baseUrl}`);
  return {
    app,
    calls,
    /** The first calls, once so many have come. */
    async seen(count: number): Promise<string[]> {
      const deadline = Date.now() + 60_000;
      while (calls().length < count) {
        assert.ok(Date.now() < deadline, `the app was not registered: ${app.stderr}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return calls();
    },
  };
}

/** Another app with workflows, in the process of the test. */
async function stranger(): Promise<number> {
  const server: Server = createServer((_request, response) => response.setHeader('content-type', 'application/json').end('{"healthy":true}'));
  await new Promise<void>((resolve) => server.listen(0, resolve));
  stopping.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

test('without any setting, start() registers the port on which this process listens', async () => {
  const { app, calls } = await appWith(`const port = await serve(); await world.start(); say(port);`);
  const port = await app.said<number>();
  assert.deepEqual(calls(), [`/v1/apps http://localhost:${port}`]);
  assert.equal(app.stderr, '');
});

test('of several ports it is the one where a workflow app answers', async () => {
  const { app, seen } = await appWith(`
    await listening(net.createServer(() => undefined)); // says nothing
    await listening(net.createServer((socket) => socket.on('error', () => undefined).end('220 mail')));
    await other();
    const port = await serve();
    await other();
    await world.start();
    say(port);`);
  const port = await app.said<number>();
  assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}`]);
});

test('PORT may be that of another app: the own port counts', async () => {
  const PORT = String(await stranger());
  const { app, seen } = await appWith(`const port = await serve(); await world.start(); say(port);`, { PORT });
  const port = await app.said<number>();
  assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}`]);
});

test('of two ports where a workflow app answers it is that in PORT', async () => {
  const { app, seen } = await appWith(`
    await serve();
    const port = await serve();
    await serve();
    process.env.PORT = String(port);
    await world.start();
    say(port);`);
  const port = await app.said<number>();
  assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}`]);
});

test('start() does not wait for an app that listens after it, and the app is registered then', async () => {
  const { app, seen } = await appWith(`await world.start(); say('started'); say(await serve());`);
  assert.equal(await app.said(), 'started');
  const port = await app.said<number>();
  assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}`]);
});

test('an app whose routes answer only after start() is registered then', async () => {
  const { app, seen } = await appWith(`
    let ready;
    const boot = new Promise((resolve) => (ready = resolve));
    const port = await listening(createServer((req, res) => void boot.then(() => answer(req, res, ''))));
    await world.start();
    ready();
    say(port);`);
  const port = await app.said<number>();
  assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}`]);
});

test('the base path is that of the SDK, of a standalone Next.js, of Nitro, or where the server redirects from /', async () => {
  const symbol = `globalThis[Symbol.for('@workflow/core/basePath')] = '/v2';`;
  for (const [script, env] of [
    [`${symbol} const port = await serve({ base: '/v2' });`, {}],
    [`const port = await serve({ base: '/v2' });`, { __NEXT_PRIVATE_STANDALONE_CONFIG: '{"basePath":"/v2"}' }],
    [`const port = await serve({ base: '/v2' });`, { NUXT_APP_BASE_URL: '/v2/' }],
    [`const port = await serve({ base: '/v2', root: (res) => res.writeHead(302, { location: '/v2/' }).end() });`, {}],
    [`const port = await serve({ base: '/v2', root: (res) => res.writeHead(404).end('did you mean to visit /v2/ instead?') });`, {}],
  ] as const) {
    const { app, seen } = await appWith(`${script} await world.start(); say(port);`, env);
    const port = await app.said<number>();
    assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}/v2`], script);
  }
});

test('a base path that the SDK knows, but not the server, does not count', async () => {
  const { app, seen } = await appWith(`globalThis[Symbol.for('@workflow/core/basePath')] = '/v2'; const port = await serve(); await world.start(); say(port);`);
  const port = await app.said<number>();
  assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}`]);
});

test('an app in a worker thread is registered at the port of the main thread that passes requests on', async () => {
  const { app, seen } = await appWith(`
    const { Worker } = require('node:worker_threads');
    const worker = new Worker(process.env.PRELUDE + \`
      const { parentPort } = require('node:worker_threads');
      (async () => {
        parentPort.postMessage(await serve());
        await new Promise((resolve) => parentPort.once('message', resolve));
        await world.start();
      })();\`, { eval: true });
    worker.on('message', async (inner) => {
      say(await passOn({ port: inner }));
      worker.postMessage('go');
    });`);
  const port = await app.said<number>();
  assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}`]);
});

test('an app in a child process is registered at the port of the server above it that passes requests on', async () => {
  const { app, seen } = await appWith(`
    const { fork } = require('node:child_process');
    const child = fork('-e', [process.env.PRELUDE + \`
      process.on('disconnect', () => process.exit());
      (async () => {
        process.send(await serve());
        await new Promise((resolve) => process.once('message', resolve));
        await world.start();
      })();\`]);
    child.on('message', async (inner) => {
      say(await passOn({ port: inner }));
      child.send('go');
    });`);
  const port = await app.said<number>();
  assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}`]);
});

test('a process above that serves other workflows is not taken for this app', async () => {
  await stranger();
  const { app, seen } = await appWith(`await world.start(); say('started'); say(await serve());`);
  assert.equal(await app.said(), 'started');
  const port = await app.said<number>();
  assert.deepEqual(await seen(1), [`/v1/apps http://localhost:${port}`]);
});

test('a worker of a cluster is registered at the port of its primary', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'));
  stopping.push(async () => rmSync(folder, { recursive: true }));
  const exec = join(folder, 'worker.cjs');
  writeFileSync(exec, `${PRELUDE} (async () => { await serve({ port: Number(process.env.SHARED) }); await world.start(); })();`);
  const { app, seen } = await appWith(`
    const cluster = require('node:cluster');
    cluster.setupPrimary({ execArgv: [], exec: ${JSON.stringify(exec)} });
    const free = net.createServer();
    const SHARED = await listening(free);
    await new Promise((resolve) => free.close(resolve));
    for (let i = 0; i < 2; i++) cluster.fork({ SHARED });
    say(SHARED);`);
  const port = await app.said<number>();
  assert.deepEqual((await seen(2)).slice(0, 2), Array(2).fill(`/v1/apps http://localhost:${port}`));
});
