/** Which SDK is in the process, and whether the fast paths that guess what it does next were tested with it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { createWorld, part, startBy } from './helpers/client.js';
import { Fake, json } from './helpers/fake.js';

const { fastPathsForSdk, installedVersions, isTested } = part<typeof import('../build/delivery/sdkVersion.js')>('delivery/sdkVersion');
const { readFastPaths } = part<typeof import('../build/fastPaths.js')>('fastPaths');

const globals = globalThis as Record<symbol, unknown>;
const STATE = Symbol.for('@world-redis/client//sdkVersion');
const V5_MARK = Symbol.for('@workflow/world//getWorldFn');
const home = process.cwd();
const made = mkdtempSync(join(tmpdir(), 'sdk-version-'));
const write = process.stderr.write;
let lines: string[] = [];
beforeEach(() => {
  delete globals[V5_MARK];
  delete globals[STATE];
  lines = [];
  process.stderr.write = ((text: string) => lines.push(text) > 0) as typeof write;
});
after(() => {
  process.stderr.write = write;
  process.chdir(home);
  rmSync(made, { recursive: true });
});

test('the version of each SDK in this repository is recognised', () => {
  const judged = (folder: string) => {
    const lock = JSON.parse(readFileSync(join(__dirname, '..', '..', folder, 'package-lock.json'), 'utf8'));
    return isTested(lock.packages['node_modules/@workflow/core'].version);
  };
  for (const folder of ['e2e/apps/v4', 'e2e/apps/v5', 'bench/apps/v4', 'bench/apps/v5', 'examples/hono-v4']) {
    assert.equal(judged(folder), true, folder);
  }
  // Betas, of v4 and of the time before v5 knew positions.
  for (const folder of ['e2e/apps/v4beta', 'e2e/suites/v4', 'e2e/suites/v5']) assert.equal(judged(folder), false, folder);
});

test('the versions beside the tested ranges count as not tested', () => {
  for (const version of ['4.8.0', '4.8.9', '4.8.123', '5.0.0-beta.50', '5.0.0-beta.55']) assert.equal(isTested(version), true, version);
  for (const version of ['4.7.9', '4.9.0', '4.80.0', '4.8.9-beta.1', '5.0.0-beta.49', '5.0.0-beta.56', '5.0.0-beta.5', '5.0.0-beta.500', '5.0.0', '14.8.1', '']) {
    assert.equal(isTested(version), false, version);
  }
});

/** Makes a package; returns its folder. */
function put(folder: string, name: string, version: string): string {
  const at = join(made, folder, 'node_modules', name);
  mkdirSync(at, { recursive: true });
  // As those of the SDK: they do not export their package.json.
  writeFileSync(join(at, 'package.json'), JSON.stringify({ name, version, exports: {} }));
  return at;
}

test('the version is that of the core which the app resolves, however it was installed', () => {
  put('flat', 'workflow', '4.0.1-beta.50');
  put('flat', '@workflow/core', '4.0.1-beta.41');
  put('store/workflow', 'workflow', '4.8.9');
  put('store/workflow', '@workflow/core', '4.8.9');
  mkdirSync(join(made, 'pnpm', 'node_modules'), { recursive: true });
  symlinkSync(join(made, 'store/workflow/node_modules/workflow'), join(made, 'pnpm/node_modules/workflow'));
  put('core-alone', '@workflow/core', '5.0.0-beta.55');
  mkdirSync(join(made, 'bundled'));
  for (const [folder, want] of [
    ['flat', ['4.0.1-beta.41']],
    ['pnpm', ['4.8.9']],
    ['core-alone', ['5.0.0-beta.55']],
    ['bundled', []],
  ] as const) {
    process.chdir(join(made, folder));
    assert.deepEqual(installedVersions(undefined), want, folder);
  }
  // A workspace, started from another folder than the app's: neither is believed alone.
  assert.deepEqual(installedVersions(join(made, 'flat', 'server.js')), ['4.0.1-beta.41']);
  process.chdir(join(made, 'pnpm'));
  assert.deepEqual(installedVersions(join(made, 'flat', 'server.js')), ['4.8.9', '4.0.1-beta.41']);
  assert.deepEqual(installedVersions(join(made, 'pnpm', 'server.js')), ['4.8.9']);
});

const names = () => [...fastPathsForSdk(readFastPaths())];
const PLAIN = ['pipeline', 'preload', 'bundles', 'socket', 'quiet'];

test('with another SDK the paths that rely on its behaviour are off, and one line says so', () => {
  const off = 'so these fast paths are off: anticipate, fan-in, request-body (docs/fast-paths.md).\n';
  const tested = '(4.8.x, 5.0.0-beta.50 to 55)';
  for (const [installed, v5, line] of [
    [['4.8.9'], false, undefined],
    [['5.0.0-beta.55'], true, undefined],
    [['4.9.0'], false, `[world-redis] Workflow SDK 4.9.0 is not among the tested versions ${tested}, ${off}`],
    [['4.8.9', '4.9.0'], false, `[world-redis] Workflow SDK 4.8.9 or 4.9.0 is not among the tested versions ${tested}, ${off}`],
    [['4.8.9'], true, 'unknown'], // not the one that is loaded
    [[], false, 'unknown'],
  ] as const) {
    globals[STATE] = { installed };
    if (v5) globals[V5_MARK] = () => undefined;
    lines = [];
    const expected = line === undefined ? [...readFastPaths()] : PLAIN;
    assert.deepEqual(names(), expected, installed.join());
    assert.deepEqual(names(), expected);
    assert.equal(lines.length, line === undefined ? 0 : 1);
    if (line === 'unknown') assert.match(lines[0] as string, /^\[world-redis\] the version of the Workflow SDK is unknown until [^\n]+\n$/);
    else assert.equal(lines[0], line);
    delete globals[V5_MARK];
  }
});

test('there is no such line about paths that the setting turns off', () => {
  globals[STATE] = { installed: [] };
  process.env['WORKFLOW_WORLD_FAST_PATHS'] = 'bundles,socket';
  assert.deepEqual(names(), ['bundles', 'socket']);
  assert.deepEqual(lines, []);
  delete process.env['WORKFLOW_WORLD_FAST_PATHS'];
});

test('a run that the SDK starts here says which SDK it is', async () => {
  const fake = await Fake.start(json(200, { run: { runId: 'r' }, event: {} }));
  const world = createWorld({ url: fake.url });
  globals[STATE] = { installed: [] };
  assert.deepEqual(names(), PLAIN);
  await world.events.create(null, { ...startBy('5.0.0-beta.50'), specVersion: 7 } as never);
  assert.deepEqual(names(), [...readFastPaths()]);
  await world.events.create(null, { ...startBy('5.0.0-beta.56'), specVersion: 7 } as never);
  assert.deepEqual(names(), PLAIN);
  assert.equal(lines.length, 1, 'once a process');
  await world.close();
  await fake.stop();
});
