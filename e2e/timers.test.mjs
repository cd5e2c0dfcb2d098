// @ts-check
// Sleeps of ten seconds, in a loop, and of a day: never early, and without delaying other work.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rowsOn, typesOf } from './lib/rows.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';

// At the same time: they mostly wait.
describe('timers', { concurrency: true }, () => {
  for (const sdk of sdks) {
    test(`SDK ${sdk}`, { concurrency: true }, async (t) => {
      const stack = await startStack(t, { sdk });
      const { completes, value, stepsOf } = rowsOn(stack);

      await Promise.all([
        t.test('ten seconds are ten seconds', async () => {
          const { events } = await completes('naps', [10_000], 'awake');
          const at = (type) => events.find((e) => e.eventType === type).createdAt;
          const slept = at('wait_completed') - at('run_started');
          assert.ok(slept > 9_999, `slept ${slept} ms`);
        }),

        t.test('three steps with three seconds after each', async () => {
          const { runId, value: stamps, events } = await value('stampAndSleep', 3_000);
          const gaps = [stamps[1] - stamps[0], stamps[2] - stamps[1]];
          assert.ok(
            gaps.every((gap) => gap >= 3_000),
            `gaps of ${gaps} ms`,
          );
          const all = events.at(-1).createdAt - events[0].createdAt;
          assert.ok(all >= 9_000, `${all} ms in all`);
          assert.deepEqual(await stepsOf(runId), Array(3).fill(['now', 'completed', 1]));
        }),

        t.test('a sleep of a day in the background of three steps: the run ends with it still open', async () => {
          const { events } = await completes('dayLongSleep', [], { values: [3, 6, 10], woke: false });
          const types = typesOf(events);
          assert.deepEqual([types.filter((type) => type === 'wait_created').length, types.includes('wait_completed')], [1, false]);
        }),
      ]);
    });
  }
});
