// @ts-check
// Redis loses writes that it has acknowledged, as after a failover, while runs are in progress. Steps are executed
// once more, and no run fails, hangs or has a log that a replay cannot explain.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startEventGate } from './lib/eventGate.mjs';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { freePort } from './lib/process.mjs';
import { keepRun, startShadow } from './lib/rollback.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';
import { isReplica, redisAway, replicaGone } from './lib/warns.mjs';

/** A run whose steps wait for the test. */
async function begin(t, app, workflow, ...args) {
  const folder = await mkdtemp(join(tmpdir(), 'world-redis-rollback-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'journal'), '');
  const runId = await app.begin(workflow, folder, ...args);
  const journal = async () => (await readFile(join(folder, 'journal'), 'utf8')).split('\n').filter(Boolean);
  return {
    runId,
    journal,
    /** Waits until a step has begun this many times. */
    began: (name, times = 1) => until(`step ${name} of ${workflow}`, async () => (await journal()).filter((one) => one === name).length >= times),
    open: async (...names) => {
      for (const name of names) await writeFile(join(folder, name), '');
    },
  };
}

/** Checks how often each step has begun. */
async function checkExecutions(run, expected) {
  const counts = {};
  for (const name of await run.journal()) counts[name] = (counts[name] ?? 0) + 1;
  assert.deepEqual(counts, expected);
}

for (const sdk of sdks) {
  test(`SDK ${sdk}: all of Redis is reset to an earlier state`, { concurrency: true }, async (t) => {
    const stack = await startStack(t, { sdk, warns: [isReplica, redisAway, replicaGone] });
    const { app, api, redis } = stack;
    const shadow = await startShadow(t, redis);
    const runs = {
      inARow: { value: 'abc', last: ['b'], executions: { a: 2, b: 2, c: 1 }, run: await begin(t, app, 'inARow') },
      sideBySide: { value: 'abcd', last: ['b', 'c'], executions: { a: 2, b: 2, c: 2, d: 1 }, run: await begin(t, app, 'sideBySide') },
      sleepsBetween: { value: 'ab', last: ['b'], executions: { a: 2, b: 2 }, run: await begin(t, app, 'sleepsBetween') },
      hookBetween: { value: 'ab!', last: ['b'], executions: { a: 2, b: 2 }, run: await begin(t, app, 'hookBetween', 'rolled-back') },
    };
    const all = Object.values(runs);
    for (const { run } of all) await run.began('a');
    await shadow.stop(async (command) => {
      // created, started, and the two of the step
      for (const { run } of all) assert.equal(await command('HGET', `workflow:run:{${run.runId}}`, 'en'), '4');
      return true;
    });
    for (const { run } of all) await run.open('a');
    for (const { run, last } of all) for (const name of last) await run.began(name);
    await shadow.bringBack();
    for (const { run } of all) await run.open('b', 'c', 'd');
    await until('the hook', async () => (await api.hooks(runs.hookBetween.run.runId)).length === 1);
    await app.resume('rolled-back', '!');
    for (const [workflow, { run, value, executions }] of Object.entries(runs)) {
      assert.deepEqual(await app.outcome(run.runId), { status: 'completed', value }, workflow);
      await checkEndedRun(api, run.runId);
      await checkExecutions(run, executions);
    }
    await checkQueueEmpty(stack);
  });

  test(`SDK ${sdk}: the messages of a run are newer than its log`, { concurrency: true }, async (t) => {
    const stack = await startStack(t, { sdk });
    const { app, api, redis, service } = stack;
    const gate = await startEventGate(t, { port: await freePort(), target: service.url });
    await app.stop();
    app.env = { WORKFLOW_WORLD_URL: gate.url, WORKFLOW_WORLD_SOCKET: 'off' };
    await app.start();

    /** Resets Redis to where step a of a run was running, once the run has reached the point from which it then continues. */
    const story = (name, arrive, expected) =>
      t.test(name, async (t) => {
        const run = await begin(t, app, 'inARow');
        await run.began('a');
        const bringBack = await keepRun(redis, run.runId);
        const release = await arrive(run);
        await bringBack();
        await run.open('a', 'b', 'c');
        release?.();
        assert.deepEqual(await app.outcome(run.runId), { status: 'completed', value: 'abc' });
        const events = await checkEndedRun(api, run.runId);
        assert.equal(events.filter(({ eventType }) => eventType === 'step_completed').length, 3);
        await checkExecutions(run, expected);
        await checkQueueEmpty(stack);
      });

    const creation = [['step_created'], ['step_started', 'input']]; // SDK v5 creates a step as it starts it
    await story(
      'a step ends that the log does not have: its message is done with, and the run is replayed',
      async (run) => {
        await run.open('a');
        await run.began('b');
      },
      { a: 2, b: 2, c: 1 },
    );
    await story(
      'a step is created behind one whose end is gone: the run is replayed',
      async (run) => {
        await run.open('a');
        await run.began('b');
        const held = gate.hold(...creation);
        await run.open('b');
        return await held;
      },
      { a: 2, b: 2, c: sdk === 'v5' ? 2 : 1 },
    ); // in its first delivery of a run, v5 does not wait for the answer before it executes a step
    await story(
      'a run ends whose steps are gone: it does not end before they have run again',
      async (run) => {
        const held = gate.hold(['run_completed']);
        await run.open('a', 'b', 'c');
        return await held;
      },
      { a: 2, b: 2, c: 2 },
    );
  });
}
