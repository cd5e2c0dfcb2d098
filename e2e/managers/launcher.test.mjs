// @ts-check
// The npm package world-redis, installed by each package manager from a registry that has it and the packages of all
// platforms, as npm will. Those of other platforms carry no binary here. `make examples` runs this after it has built
// the binary of this platform as `make dist` does.
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { managers, ownLines, registryEnv, trouble } from '../lib/managers.mjs';
import { distributed, npmPack } from '../lib/paths.mjs';
import { run } from '../lib/process.mjs';
import { startRegistry } from '../lib/registry.mjs';

const platform = `${process.platform}-${process.arch}`;
const others = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'].filter((one) => one !== platform);

let work;
let registry;
before(async () => {
  work = await mkdtemp(join(tmpdir(), 'world-redis-launcher-'));
  const [binaries, packed] = [join(work, 'binaries'), join(work, 'packed')];
  await mkdir(binaries);
  await copyFile(distributed(platform), join(binaries, platform));
  for (const other of others) await writeFile(join(binaries, other), 'not of this platform');
  const { code, tail } = await run(process.execPath, [npmPack, binaries, packed]);
  assert.equal(code, 0, tail);
  registry = await startRegistry((await readdir(packed)).map((name) => join(packed, name)));
});
after(async () => {
  registry?.stop();
  await rm(work, { recursive: true });
});

for (const [name, { install, run: exec, files = {} }] of Object.entries(managers)) {
  test(`world-redis, installed by ${name}, starts the binary of this platform`, async () => {
    const project = await mkdtemp(join(work, 'project-'));
    const all = { 'package.json': JSON.stringify({ name: 'project', private: true, dependencies: { 'world-redis': '*' } }), ...files };
    for (const [file, text] of Object.entries(all)) await writeFile(join(project, file), text);
    const options = { cwd: project, env: registryEnv(registry.url, project), timeout: 120_000 };

    registry.fetched.clear();
    const installed = await run(install[0], install.slice(1), options);
    assert.equal(installed.code, 0, installed.tail);
    assert.doesNotMatch(ownLines(installed.tail), trouble);
    assert.deepEqual([...registry.fetched].sort(), [`@world-redis/${platform}`, 'world-redis']);

    const [command, ...args] = [...exec, 'world-redis'];
    const help = await run(command, [...args, '--help'], options);
    assert.equal(help.code, 0, help.tail);
    assert.match(help.stdout, /^Usage:\n/m);

    const script = 'console.log(process.env.WORKFLOW_WORLD_URL); process.exit(9)';
    const dev = await run(command, [...args, 'dev', '--embedded', '--', process.execPath, '-e', script], options);
    assert.equal(dev.code, 9, dev.tail);
    assert.match(dev.stdout, /^http:\/\/127\.0\.0\.1:\d+$/m);
  });
}
