// @ts-check
// `world-redis runs` beside real apps: an operator finds runs, cancels some, and removes all that have ended.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceBinary } from './lib/paths.mjs';
import { run } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

for (const sdk of sdks) {
  test(`SDK ${sdk}: world-redis runs`, async (t) => {
    const { app, api, service } = await startStack(t, { sdk, token: 'runs-token' });

    /** Runs the command, which ends with the code; returns what it prints on stdout. */
    const runs = async (expected, ...args) => {
      const { code, stdout, tail } = await run(serviceBinary, ['runs', ...args], { env: service.clientEnv });
      assert.equal(code, expected, `runs ${args.join(' ')}: ${tail}`);
      return stdout;
    };
    const listed = async (...args) =>
      (await runs(0, 'ls', '--json', ...args))
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    const idsOf = (list) => list.map((r) => r.runId);

    const streamed = await app.begin('streamer', 4, 10);
    assert.equal((await app.outcome(streamed)).status, 'completed');
    const parent = await app.begin('parent', 42);
    assert.equal((await app.outcome(parent)).status, 'completed');
    const naps = [await app.begin('naps', 600_000), await app.begin('naps', 600_000)];
    for (const id of naps) await until('the timer', async () => (await api.events(id)).some((e) => e.eventType === 'wait_created'));

    const [child] = await listed('--workflow', 'child');
    assert.deepEqual(idsOf(await listed('--oldest-first')), [streamed, parent, child.runId, ...naps]);
    assert.deepEqual(idsOf(await listed('--status', 'running', '--workflow', 'n?p*')), [...naps].reverse());
    // SDK v4 does not store the parent.
    assert.deepEqual(idsOf(await listed('--parent', parent)), sdk === 'v5' ? [child.runId] : []);
    assert.equal(child.parentRunId, sdk === 'v5' ? parent : undefined);

    const shown = JSON.parse(await runs(0, 'show', '--json', streamed));
    assert.deepEqual([shown.status, shown.steps, shown.streams.length, shown.delete], ['completed', { completed: 1 }, 1, 'removed']);
    const napping = JSON.parse(await runs(0, 'show', '--json', naps[0]));
    assert.deepEqual([napping.messages.length, napping.delete], [1, 'refused: the run is running, and can be removed once it has ended']);

    await runs(1, 'delete', '--yes', naps[0]);
    assert.equal(await runs(0, 'cancel', '--workflow', 'naps', '--yes'), '2 runs are cancelled\n');
    for (const id of naps) assert.equal((await app.outcome(id)).status, 'cancelled');

    assert.match(await runs(0, 'delete', '--all', '--dry-run'), /^5 runs: 3 completed, 2 cancelled\n/);
    assert.equal(await runs(0, 'delete', '--all', '--limit', '1', '--yes'), '1 run is removed\n');
    assert.deepEqual(idsOf(await listed('--oldest-first')), [parent, child.runId, ...naps]);
    assert.equal(await runs(0, 'delete', '--all', '--yes'), '4 runs are removed\n');
    assert.deepEqual(await api.runs(), []);
    await runs(1, 'show', parent);
    await service.stop();
    await runs(2, 'ls');
  });
}
