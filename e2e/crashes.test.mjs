// @ts-check
// A workflow ends the app's process each time it runs. Its run fails, and other runs complete.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';
import { appAway, processEnds } from './lib/warns.mjs';

/** E2E_BOMB=full: as many crashes as the default, and steps of a minute. */
const full = process.env.E2E_BOMB === 'full';
const crashes = full ? 15 : 1;
const long = full ? 60_000 : 3_000;
const innocents = full ? [...Array(5).fill([long]), ...Array(5).fill([10, long]), ...Array(10).fill([10, 10, 1_000])] : [[long], [10, long], [10, 10, 300]];
const timeout = full ? 1_500_000 : 240_000;

describe('a workflow that uses up the memory', { concurrency: 2, timeout }, () => {
  for (const sdk of sdks) {
    test(`SDK ${sdk}: its run fails, and those beside it complete`, async (t) => {
      const stack = await startStack(t, {
        sdk,
        serviceEnv: full ? {} : { WORKFLOW_WORLD_MAX_CRASHES: String(crashes) },
        appEnv: { NODE_OPTIONS: '--max-old-space-size=150' },
        warns: [processEnds, appAway],
      });
      const { app, api, service } = stack;
      app.supervise(full ? 2_000 : 200);
      const began = performance.now();
      const runs = [];
      for (const lengths of innocents) runs.push([await app.begin('innocent', ...lengths), lengths]);
      await app.begin('bomb').catch(() => {}); // the app may end before it answers
      const bomb = await until('the run of the bomb', async () => {
        const others = runs.map(([runId]) => runId);
        return (await api.all('/v1/runs')).map((run) => run.runId).find((runId) => !others.includes(runId));
      });

      const ended = async (runId) => !['pending', 'running'].includes((await api.run(runId)).status);
      for (const [runId] of runs) await until('a run beside the bomb to end', () => ended(runId), { timeout, every: 100 });
      const seconds = () => Math.round((performance.now() - began) / 1000);
      t.diagnostic(`SDK ${sdk}: after ${seconds()} s ${runs.length} runs have ended beside the bomb, with ${app.ends} crashes`);
      await until('the run of the bomb to end', () => ended(bomb), { timeout, every: 100 });
      t.diagnostic(`SDK ${sdk}: after ${seconds()} s the bomb has failed, with ${app.ends} crashes`);
      await until('the app to be ready', async () => (await fetch(`${app.url}/ready`)).ok);

      const { status, error } = await app.outcome(bomb);
      assert.equal(status, 'failed');
      assert.equal(error.code, 'MAX_DELIVERIES_EXCEEDED');
      assert.equal(error.cause.message, `the app's process ended ${crashes} times during this delivery`);
      await checkEndedRun(api, bomb);
      for (const [runId, lengths] of runs) {
        assert.deepEqual(await app.outcome(runId), { status: 'completed', value: lengths });
        const events = await checkEndedRun(api, runId);
        const starts = events.filter((e) => e.eventType === 'step_started').length;
        assert.ok(starts <= lengths.length + 3, `a step is begun again for three crashes at most: ${starts} of ${lengths.length}`);
      }
      await checkQueueEmpty(stack);
      const line = (text) => service.output.split('\n').filter((l) => l.includes(text)).length;
      assert.equal(line('a run was failed, because the app'), 1);
      assert.equal(line('are delivered one at a time until'), 1);
    });
  }
});
