// @ts-check
// The client's tarball in an empty project, installed by npm, and by other package managers if E2E_MANAGERS=all (`make
// examples`). It has no dependencies, so no registry is asked. The app of SDK v4 then runs in that project.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { managers, ownLines, trouble } from './lib/managers.mjs';
import { clientFolder, nodeOf, world } from './lib/paths.mjs';
import { run } from './lib/process.mjs';
import { startStack } from './lib/stack.mjs';

const tried = process.env.E2E_MANAGERS === 'all' ? Object.keys(managers) : ['npm'];

const folders = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function folder() {
  const made = await mkdtemp(join(tmpdir(), 'world-redis-packages-'));
  folders.push(made);
  return made;
}

let tarball;
before(async () => {
  const packed = await folder();
  const { code, tail } = await run('npm', ['pack', '--ignore-scripts', '--pack-destination', packed], { cwd: clientFolder });
  assert.equal(code, 0, tail);
  tarball = join(packed, (await readdir(packed))[0]);
});

for (const name of tried) {
  test(`the tarball, installed by ${name} into an empty project, runs workflows`, async (t) => {
    const project = await folder();
    const { install, offline = [], files = {}, hook } = managers[name];
    const all = { 'package.json': JSON.stringify({ name: 'project', private: true, dependencies: { [world]: `file:${tarball}` } }), ...files };
    for (const [file, text] of Object.entries(all)) await writeFile(join(project, file), text);

    const installed = await run(install[0], [...install.slice(1), ...offline], { cwd: project });
    assert.equal(installed.code, 0, installed.tail);
    assert.doesNotMatch(ownLines(installed.tail), trouble);

    const node = hook ? ['--require', join(project, hook)] : [];
    const script = `const { createWorld, default: byDefault } = require('${world}'); if (createWorld !== byDefault || !createWorld().queue) throw new Error('not the client');`;
    const loaded = await run(nodeOf('v4'), [...node, '-e', script], { cwd: project });
    assert.equal(loaded.code, 0, loaded.tail);

    const { app } = await startStack(t, { appFolder: project, appEnv: { NODE_OPTIONS: node.join(' ') || undefined } });
    assert.equal((await app.outcome(await app.begin('par', 3))).status, 'completed');
  });
}
