// @ts-check
// Runs that start other runs and wait for them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { rowsOn, textOf } from './lib/rows.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';

for (const sdk of sdks) {
  test(`SDK ${sdk}: child runs`, { concurrency: true }, async (t) => {
    // Ten slots, which ten parents that wait for their children would all occupy.
    const stack = await startStack(t, { sdk, serviceEnv: { WORKFLOW_REDIS_WORKER_CONCURRENCY: '10' } });
    const { api } = stack;
    const { value } = rowsOn(stack);

    /** The child's row, which must be that of a completed run. */
    const childOf = async (runId) => {
      assert.match(runId, /^wrun_[0-9A-Z]{26}$/);
      await checkEndedRun(api, runId);
      const run = await api.run(runId);
      assert.equal(run.status, 'completed');
      return run;
    };

    await Promise.all([
      t.test('a step starts a run, another waits for it', async () => {
        const { run, value: seen } = await value('parent', 42);
        assert.equal(seen.result, 84);
        const child = await childOf(seen.childId);
        assert.deepEqual([textOf(child.input), textOf(child.output)], ['devl[[1],42]', 'devl[84]']);
        assert.equal(textOf(run.output), `devl[{"childId":1,"result":2},"${seen.childId}",84]`);
      }),
      t.test('BR-22: ten runs at once, each with a step that waits for a run', async () => {
        const seen = await Promise.all(Array.from({ length: 10 }, (_, i) => value('parent', i)));
        assert.deepEqual(
          seen.map((s) => s.value.result),
          Array.from({ length: 10 }, (_, i) => 2 * i),
        );
      }),
      ...(sdk === 'v5' ? onlyV5(t, stack, childOf) : []),
    ]);

    await t.test('nothing is left over', async () => {
      await checkQueueEmpty(stack);
      for (const status of ['pending', 'running', 'failed']) assert.deepEqual(await api.runs(status), []);
    });
  });
}

function onlyV5(t, stack, childOf) {
  const { value, completes } = rowsOn(stack);
  return [
    t.test('a Run goes from a step to the workflow and on to a step', async () => {
      const { value: seen } = await value('runObject', 42);
      const { runId } = seen;
      assert.deepEqual(seen, { runId, isRun: true, finished: { runId, isRun: true, value: 84 }, value: 84 });
      assert.equal(textOf((await childOf(runId)).output), 'devl[84]');
    }),

    t.test('a workflow starts a run that resumes its hook', async () => {
      const { value: seen, events } = await value('hookBack', 'back', 14);
      assert.equal(seen.value, 42);
      await childOf(seen.runId);
      assert.equal(events.filter((e) => e.eventType === 'hook_received').length, 1);
    }),

    t.test('fibonacci(5): fifteen runs, seven of which wait for two of the others', async () => {
      await completes('fibonacci', [5], 5);
      const runs = (await stack.api.runs()).filter((run) => run.workflowName.endsWith('//fibonacci'));
      assert.equal(runs.length, 15);
      for (const { runId } of runs) await childOf(runId);
    }),
  ];
}
