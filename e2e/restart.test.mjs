// @ts-check
// What the official suites require of a restart: runs in progress continue without any help.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { App } from './lib/app.mjs';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { freePort } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

/** Seconds that a step of SDK v5 belongs to the delivery that began it; the default is far longer. */
const LEASE = '5';

describe('restart', { concurrency: true }, () => {
  for (const sdk of sdks) {
    test(`SDK ${sdk}: a killed app continues its sleep and its step; a second app does not touch a live step`, async (t) => {
      const deploymentId = 'dpl_restart';
      const appEnv = { WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS: LEASE };
      const stack = await startStack(t, { sdk, deploymentId, appEnv });
      const { app, api, service } = stack;
      const folder = await mkdtemp(join(tmpdir(), 'world-redis-e2e-'));
      t.after(() => rm(folder, { recursive: true, force: true }));

      /** A step that lasts until its gate opens, and a journal of its begins and ends. */
      const gated = async (name) => {
        const [journal, gate] = [join(folder, name), join(folder, `${name}.gate`)];
        const lines = async () => (await readFile(journal, 'utf8')).split('\n').filter(Boolean);
        const runId = await app.begin('gated', journal, gate);
        // SDK v5 begins a step before the service knows about it.
        await until('the step to begin', async () => (await lines()).length === 1 && (await api.steps(runId))[0]?.attempt === 1);
        return { runId, lines, open: () => writeFile(gate, '') };
      };

      /** Asks only the service, which asks nothing of the app. */
      const completed = async (runId) => {
        await until('the run to complete', async () => (await api.run(runId)).status === 'completed');
        return checkEndedRun(api, runId);
      };

      await t.test('killed while a run sleeps and another is in a step: both complete, the sleep not early', async () => {
        const sleeping = await app.begin('naps', 8_000);
        await until('the timer', async () => (await api.events(sleeping)).some((e) => e.eventType === 'wait_created'));
        const { runId, lines, open } = await gated('killed');
        await app.kill();
        await open();
        await app.start();

        const events = await completed(sleeping);
        const of = (type) => events.find((e) => e.eventType === type);
        assert.ok(of('wait_completed').createdAt >= of('wait_created').eventData.resumeAt, 'woken before its time');
        await completed(runId);
        assert.deepEqual(await lines(), ['begin', 'begin', 'end'], 'cut off once, done once');
        assert.deepEqual((await api.steps(runId)).map((s) => [s.status, s.attempt]).reverse(), [
          ['completed', 2],
          ['completed', 1],
        ]);
        await checkQueueEmpty(stack);
      });

      await t.test('a second app boots while a step runs: the step is run once', async () => {
        const { runId, lines, open } = await gated('second');
        const second = new App({ sdk, service, port: await freePort(), deploymentId, env: appEnv });
        try {
          await second.start();
          await open();
          await completed(runId);
        } finally {
          await second.stop();
        }
        assert.deepEqual(await lines(), ['begin', 'end']);
        assert.deepEqual(
          (await api.steps(runId)).map((s) => [s.status, s.attempt]),
          Array(2).fill(['completed', 1]),
        );
      });
    });
  }
});
