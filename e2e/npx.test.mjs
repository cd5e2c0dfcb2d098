// @ts-check
// The npm package world-redis in an empty project, as `npx world-redis` starts it: with the built binary of this platform in
// place of those of `make dist`.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { npmPack, serviceBinary } from './lib/paths.mjs';
import { Child, freePort, run } from './lib/process.mjs';
import { until } from './lib/wait.mjs';

let project;
before(async () => {
  project = await mkdtemp(join(tmpdir(), 'world-redis-npx-'));
  await mkdir(join(project, 'binaries'));
  await copyFile(serviceBinary, join(project, 'binaries', `${process.platform}-${process.arch}`));
  const packed = await run(process.execPath, [npmPack, 'binaries', 'out'], { cwd: project });
  assert.equal(packed.code, 0, packed.tail);
  await writeFile(join(project, 'package.json'), '{"name":"project","private":true}');
  const tarballs = (await readdir(join(project, 'out'))).map((name) => `./out/${name}`);
  assert.equal(tarballs.length, 2);
  const installed = await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...tarballs], { cwd: project });
  assert.equal(installed.code, 0, installed.tail);
  assert.doesNotMatch(installed.tail, /warn/i);
});
after(() => rm(project, { recursive: true }));

const launcher = () => join(project, 'node_modules/.bin/world-redis');

async function served() {
  const url = `http://127.0.0.1:${await freePort()}`;
  const child = new Child('launcher', launcher(), ['serve'], { cwd: project, env: { WORKFLOW_WORLD_LISTEN: url.slice('http://'.length) } });
  await until('the service to be ready', async () => (await fetch(`${url}/readyz`)).ok, { child });
  return { child, url };
}

test('npx world-redis passes arguments on, and what the binary prints and returns', async () => {
  const help = await run('npx', ['--offline', '--no-install', 'world-redis', '--help'], { cwd: project });
  assert.equal(help.code, 0, help.tail);
  assert.match(help.stdout, /^Usage:\n/m);
  const wrong = await run(launcher(), ['nonsense'], { cwd: project });
  const direct = await run(serviceBinary, ['nonsense'], {});
  assert.deepEqual([wrong.code, wrong.tail], [direct.code, direct.tail]);
  assert.notEqual(direct.code, 0);
});

for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
  test(`${signal} to the launcher stops the service in an orderly way`, async () => {
    const { child, url } = await served();
    assert.equal(await child.end(signal), 0, child.tail);
    await assert.rejects(fetch(`${url}/readyz`));
    assert.match(child.output, /no longer leads/);
  });
}

test('npx world-redis dev starts a command with the variables of the app, and ends as it ends', async () => {
  const script = 'console.log(process.env.WORKFLOW_TARGET_WORLD, process.env.WORKFLOW_WORLD_URL); process.exit(9)';
  const { code, stdout, tail } = await run(launcher(), ['dev', '--embedded', '--', process.execPath, '-e', script], { cwd: project });
  assert.equal(code, 9, tail);
  assert.match(stdout, /^\/.*\/\.world-redis\/world-redis\.cjs http:\/\/127\.0\.0\.1:\d+\n$/);
});

test('a service that is killed ends its launcher by the same signal', async () => {
  const { child } = await served();
  process.kill(Number(execFileSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' })), 'SIGKILL');
  assert.equal(await child.exited, 'SIGKILL');
});

test('without the package of this platform it says what to do', async () => {
  await rm(join(project, 'node_modules/@world-redis'), { recursive: true });
  const { code, tail } = await run(launcher(), ['--help'], { cwd: project });
  assert.equal(code, 1);
  assert.match(tail, new RegExp(`^world-redis: the package @world-redis/${process.platform}-${process.arch}, which has the binary, is not installed\\. .*--omit=optional`));
});
