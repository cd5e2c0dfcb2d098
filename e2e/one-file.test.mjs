// @ts-check
// The client as one file that the service prints: apps of SDK v4 and v5, and the SDK's command line, which take it by its path.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { appFolder, nodeOf, serviceBinary, workflowCLI } from './lib/paths.mjs';
import { run } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';

for (const sdk of sdks) {
  test(`SDK ${sdk}: WORKFLOW_TARGET_WORLD is a file in a folder without packages`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'world-redis-file-'));
    t.after(() => rm(folder, { recursive: true }));
    const file = join(folder, 'world-redis.cjs');
    const printed = await run(serviceBinary, ['client'], {});
    assert.equal(printed.code, 0, printed.tail);
    await writeFile(file, printed.stdout);

    const { app, service } = await startStack(t, { sdk, token: 'one-file-token', appEnv: { WORKFLOW_TARGET_WORLD: file } });
    const runId = await app.begin('par', 3);
    assert.equal((await app.outcome(runId)).status, 'completed');
    const streamed = await app.begin('streamer', 4, 10);
    assert.equal((await app.outcome(streamed)).status, 'completed');

    const options = { cwd: appFolder(sdk), env: { ...service.clientEnv, WORKFLOW_NO_UPDATE_CHECK: '1' } };
    const listed = await run(nodeOf(sdk), [workflowCLI(sdk), 'inspect', 'runs', '--json', '--backend', file], options);
    assert.equal(listed.code, 0, listed.tail);
    assert.deepEqual(new Set(JSON.parse(listed.stdout).data.map((entry) => entry.runId)), new Set([runId, streamed]));
  });
}
