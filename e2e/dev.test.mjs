// @ts-check
// `world-redis dev`: an app whose port nothing names, below a shell, on both kinds of data; a kill of the command; Ctrl-C in
// a terminal.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { App } from './lib/app.mjs';
import { appFolder, appWithoutPort, nodeOf, serviceBinary } from './lib/paths.mjs';
import { Child, freePort } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { until } from './lib/wait.mjs';

/**
 * The folder of the data, and a function that starts the command and waits until it has found the app.
 *
 * @param {import('node:test').TestContext} t
 * @param {string} sdk
 * @param {{ flags?: string[], env?: import('./lib/process.mjs').Environment, terminal?: boolean }} [options]
 */
async function developer(t, sdk, { flags = [], env, terminal } = {}) {
  const data = await mkdtemp(join(tmpdir(), 'world-redis-dev-'));
  const port = await freePort();
  const app = new App({ sdk, service: { clientEnv: {} }, port });
  /** @type {Child | undefined} */
  let dev;
  const start = async () => {
    const command = `"${nodeOf(sdk)}" "${appWithoutPort}" ${port}; exit $?`;
    const child = new Child('dev', serviceBinary, ['dev', '--data', data, ...flags, '--', 'sh', '-c', command], { cwd: appFolder(sdk), env, terminal });
    dev = child;
    await until('the app to be found', () => child.output.includes(`app      http://localhost:${port} `), { child, timeout: 120_000 });
    return child;
  };
  t.after(async () => {
    await dev?.end('SIGTERM');
    await rm(data, { recursive: true, force: true });
  });
  return { data, app, start };
}

/** Kills the command. Its app runs on with its streams, so they do not close. */
async function kill(dev) {
  dev.signal('SIGKILL');
  await until('the end of the command', () => {
    try {
      return !process.kill(dev.pid, 0);
    } catch {
      return true;
    }
  });
}

for (const sdk of sdks) {
  test(`SDK ${sdk}: an app that never registers runs, and goes on after kill -9 of the command`, async (t) => {
    const { app, start } = await developer(t, sdk, { env: { E2E_APP_SILENT: '1' } });
    const first = await start();
    assert.match(first.output, /data {5}in .*redis, redis-server .* with an append-only file/);
    const quick = await app.begin('par', 3);
    assert.equal((await app.outcome(quick)).status, 'completed');
    const runId = await app.begin('collect', 'dev-token');
    await until('the hook', () => app.hook('dev-token'));
    assert.deepEqual(first.alarms, []);
    await kill(first);

    const second = await start();
    assert.match(second.output, /its command, process \d+, is ended/);
    assert.match(second.output, /its redis-server, process \d+, is ended/);
    await app.resume('dev-token', { n: 1 });
    await app.resume('dev-token', { n: 2, last: true });
    assert.deepEqual(await app.outcome(runId, 90_000), { status: 'completed', value: [1, 2] });
    await second.end('SIGINT');
    await assert.rejects(fetch(`${app.url}/ready`), 'the app has ended with the command');
  });
}

test('embedded Redis: a run goes on after kill -9, and a wrong address that the app registers is not called', async (t) => {
  const called = [];
  const other = createServer((request, response) => {
    called.push(request.url);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"healthy":true}');
  });
  await new Promise((done) => other.listen(0, '127.0.0.1', () => done(undefined)));
  t.after(() => other.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (other.address());
  const env = { WORKFLOW_BASE_URL: `http://localhost:${port}` };
  const { data, app, start } = await developer(t, 'v4', { flags: ['--embedded'], env });

  const first = await start();
  assert.match(first.output, /data {5}in memory, and in .*snapshot every 5s and at exit: kill -9 loses at most 5s/);
  const runId = await app.begin('collect', 'dev-token');
  await until('the hook', () => app.hook('dev-token'));
  // The token alone is in the input of the run, too.
  await until('the hook in the snapshot', () => readFileSync(join(data, 'snapshot'), 'latin1').includes('hook:{wrun_'));
  await kill(first);

  await start();
  await app.resume('dev-token', { n: 1, last: true });
  assert.deepEqual(await app.outcome(runId, 90_000), { status: 'completed', value: [1] });
  assert.deepEqual(called, []);
});

if (process.platform === 'linux') {
  test('Ctrl-C in a terminal ends the command and the app, and writes the snapshot', async (t) => {
    const { data, app, start } = await developer(t, 'v4', { flags: ['--embedded'], terminal: true });
    const dev = await start();
    await app.begin('collect', 'dev-token');
    await until('the hook', () => app.hook('dev-token'));
    dev.type('\x03');
    assert.equal(await dev.exited, 130, dev.tail);
    await assert.rejects(fetch(`${app.url}/ready`));
    assert.throws(() => execFileSync('pgrep', ['-f', `${data}|${appWithoutPort} ${new URL(app.url).port}`]), { status: 1 }, 'no process is left');
    assert.match(readFileSync(join(data, 'snapshot'), 'latin1'), /hook:\{wrun_/);
  });
}
