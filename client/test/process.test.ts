/** How the client behaves as part of a process: loading, ending, and what it writes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { after, test } from 'node:test';
import { runChild } from './helpers/child.js';
import { clientEntry, createWorld, modulesFolder } from './helpers/client.js';
import { Fake, json, streamBody } from './helpers/fake.js';

const fakes: Fake[] = [];
after(() => Promise.all(fakes.map((fake) => fake.stop())));

async function fakeService(): Promise<Fake> {
  const fake = await Fake.start(json(200, { runId: 'r', messageId: 'm' }));
  fakes.push(fake);
  return fake;
}

const exits = { code: 0, stdout: '', stderr: '' };
const shown = ({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }) => ({
  code,
  stdout,
  stderr,
});

test('loading the client and creating Worlds opens nothing, whatever the environment holds', async () => {
  const fake = await fakeService();
  const script = `
    const before = process.getActiveResourcesInfo().length;
    const world = createWorld(); createWorld();
    world.createQueueHandler('__wkf_workflow_', async () => {});
    if (process.getActiveResourcesInfo().length !== before) throw new Error('something was opened');
    for (const name of Object.keys(require.cache)) if (/node_modules/.test(name)) throw new Error(name);`;
  assert.deepEqual(shown(await runChild(script, { WORKFLOW_WORLD_URL: fake.url })), exits);
  assert.deepEqual(shown(await runChild(script, { WORKFLOW_WORLD_URL: 'not a url', WORKFLOW_BASE_URL: '::' })), exits);
  assert.equal(fake.opened, 0);
});

test('a script that makes a call and forgets close() ends by itself, long before idle connections time out', async () => {
  const fake = await fakeService();
  const outcome = await runChild(`createWorld().runs.get('r').then((r) => { if (r.runId !== 'r') throw r; });`, {
    WORKFLOW_WORLD_URL: fake.url,
  });
  assert.deepEqual(shown(outcome), exits);
  assert.ok(outcome.ms < 10_000, `${outcome.ms} ms`);
});

test('a stream write that is retried without end keeps its process alive only as long as other writes', async () => {
  const fake = await Fake.start(json(503, { error: { name: 'WorkflowWorldError', code: 'unavailable' } }));
  fakes.push(fake);
  const script = `createWorld({ streamRetryForMs: 300 }).streams.createWriteSession('r', 's', { writerId: 'w' }).write(0, ['x']);`;
  const outcome = await runChild(script, { WORKFLOW_WORLD_URL: fake.url });
  assert.deepEqual(shown(outcome), exits);
  assert.ok(fake.seen.length > 1, `${fake.seen.length} tries`);
  assert.ok(outcome.ms < 10_000, `${outcome.ms} ms`);
});

test('a started app is kept alive by its own server alone, not by the client', async () => {
  const fake = await fakeService();
  const outcome = await runChild(`createWorld().start();`, { WORKFLOW_WORLD_URL: fake.url, WORKFLOW_BASE_URL: 'http://localhost:4111' });
  assert.deepEqual(shown(outcome), exits);
  assert.ok(outcome.ms < 10_000, `${outcome.ms} ms`);
  assert.equal(fake.seen[0]?.url, '/v1/apps');
});

test('a process that calls start() and listens nowhere ends by itself, and is not registered', async () => {
  const fake = await fakeService();
  const outcome = await runChild(`createWorld().start();`, { WORKFLOW_WORLD_URL: fake.url });
  assert.deepEqual(shown(outcome), exits);
  assert.ok(!fake.seen.some(({ url }) => url === '/v1/apps'));
});

test('after close() a process ends, also with a live read that nobody cancelled', async () => {
  const fake = await fakeService();
  fake.next(streamBody(Buffer.alloc(0)));
  const outcome = await runChild(
    `const world = createWorld();
     (async () => {
       const reader = (await world.readFromStream('s')).getReader();
       reader.read().catch(() => undefined);
       await world.start();
       await world.queue('__wkf_workflow_w', { runId: 'r' });
       await world.close();
     })();`,
    { WORKFLOW_WORLD_URL: fake.url },
  );
  assert.deepEqual(shown(outcome), exits);
  assert.ok(outcome.ms < 10_000, `${outcome.ms} ms`);
});

test('if the service is unreachable, errors go to stderr and the process still ends', async () => {
  const outcome = await runChild(`createWorld().start();`, { WORKFLOW_WORLD_URL: 'http://127.0.0.1:1', WORKFLOW_BASE_URL: 'http://localhost:4111' });
  assert.equal(outcome.code, 0);
  assert.equal(outcome.stdout, '');
  assert.match(outcome.stderr, /^\[world-redis\] [^\n]+\n$/);
});

test('the modules for call sockets are loaded when an app starts, before calls would wait for them, and not if sockets are off', async () => {
  const fake = await fakeService();
  const script = `
    const loaded = () => process.moduleLoadList.includes('NativeModule tls'); // nothing else here needs it
    const world = createWorld();
    const before = loaded();
    world.start().then(async () => {
      console.log(before, loaded());
      await world.close();
    });`;
  for (const [wanted, said] of [
    ['', 'false true'],
    ['off', 'false false'],
  ] as const) {
    const { stdout } = await runChild(script, { WORKFLOW_WORLD_URL: fake.url, WORKFLOW_WORLD_SOCKET: wanted, WORKFLOW_BASE_URL: 'http://localhost:4111' });
    assert.equal(stdout.trim(), said);
  }
});

test('the package offers createWorld by name and as default, to require and to import, and as a file', () => {
  const script = `
    import byDefault, { createWorld } from '@world-redis/client';
    import { createRequire } from 'node:module';
    import * as file from ${JSON.stringify(clientEntry)}; // as SDK v5 does where it cannot require
    const required = createRequire(import.meta.url)('@world-redis/client');
    const all = [createWorld, byDefault, required.default, required.createWorld, file.createWorld];
    if (new Set(all).size !== 1 || typeof createWorld !== 'function') throw new Error('they differ');`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', cwd: dirname(dirname(clientEntry)) });
  assert.equal(stderr, '');
  assert.equal(status, 0);
});

test('the package carries the licence of the repository', () => {
  const client = dirname(dirname(clientEntry));
  assert.equal(readFileSync(join(client, 'LICENSE'), 'utf8'), readFileSync(join(client, '..', 'LICENSE'), 'utf8'));
});

test('members are own properties that work when destructured and spread', async () => {
  const fake = await fakeService();
  const { runs, queue, getDeploymentId, close } = { ...createWorld({ url: fake.url }) };
  const { get } = { ...runs };
  assert.deepEqual(await get('r'), { runId: 'r', messageId: 'm' });
  assert.deepEqual(await queue('__wkf_workflow_w', {}), { messageId: 'm' });
  assert.equal(await getDeploymentId(), 'dpl_world-redis');
  await close();
});

test('each SDK generation is shown the spec version that it speaks', () => {
  const v5 = Symbol.for('@workflow/world//getWorldFn');
  const slots = Symbol.for('@workflow/errors//StreamError');
  const globals = globalThis as Record<symbol, unknown>;
  assert.equal(createWorld().specVersion, 3);
  try {
    globals[v5] = () => undefined;
    assert.equal(createWorld().specVersion, 5, 'an early beta wants exactly 5');
    globals[slots] = Error;
    assert.equal(createWorld().specVersion, 7);
    for (const off of ['0', 'false']) {
      process.env['WORKFLOW_SEALED_LOG'] = off;
      assert.equal(createWorld().specVersion, 6);
    }
    process.env['WORKFLOW_WORLD_SPEC_VERSION'] = '4';
    assert.equal(createWorld().specVersion, 4);
  } finally {
    delete globals[v5];
    delete globals[slots];
    delete process.env['WORKFLOW_SEALED_LOG'];
    delete process.env['WORKFLOW_WORLD_SPEC_VERSION'];
  }
});

function filesIn(dist: string): string[] {
  return readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dist, join(entry.parentPath, entry.name)));
}

test('the build holds neither directive: bundlers would take the package for workflow code', () => {
  const dist = dirname(clientEntry);
  const files = filesIn(dist);
  assert.ok(files.includes('index.js') && files.includes('index.d.ts'));
  for (const file of files) {
    const text = readFileSync(join(dist, file), 'utf8');
    for (const directive of ['workflow', 'step']) assert.ok(!text.includes(`use ${directive}`), file);
  }
});

test('the client never writes to stdout, and neither do its dependencies', () => {
  for (const folder of [dirname(clientEntry), modulesFolder]) {
    for (const file of filesIn(folder)) {
      assert.doesNotMatch(readFileSync(join(folder, file), 'utf8'), /console\.|process\.stdout/, file);
    }
  }
});

test('the package contains its dependencies, with their licences', () => {
  const client = dirname(dirname(clientEntry));
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'));
  assert.deepEqual([dependencies, optionalDependencies, peerDependencies], [undefined, undefined, undefined]);
  const text = readFileSync(clientEntry, 'utf8');
  const needed = [...text.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name as string);
  assert.ok(needed.length > 10);
  for (const name of needed) assert.ok(isBuiltin(name), name);
  for (const bundled of ['cbor-x', 'ws']) {
    const [notice] = /^Copyright.*$/m.exec(readFileSync(join(client, 'node_modules', bundled, 'LICENSE'), 'utf8')) as RegExpExecArray;
    assert.ok(text.includes(notice), bundled);
  }
});

test('the service contains this client', () => {
  const contained = join(dirname(clientEntry), '..', '..', 'cmd', 'world-redis', 'world-redis.cjs');
  assert.ok(readFileSync(clientEntry).equals(readFileSync(contained)), 'the source of the client has changed: run `make client-file` and commit what it writes');
});
