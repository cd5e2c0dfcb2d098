// Much of everything, a fifth of what the official benchmarks take: logs that are read again and again, steps that all
// start at once, big payloads, big streams.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOn, typesOf } from './lib/rows.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const MB = 1 << 20;
const CHUNK = 64 * 1024;

for (const sdk of sdks) {
  test(`SDK ${sdk}: volume`, async (t) => {
    const stack = await startStack(t, { sdk });
    const { completes } = rowsOn(stack);
    const steps = (events) => ['step_created', 'step_started', 'step_completed'].map((type) => typesOf(events).filter((e) => e === type).length);
    /** How long the run took by the service's clock, for the reader of the report. */
    const took = (t, { run }) => t.diagnostic(`${run.completedAt - run.createdAt} ms`);

    await t.test('200 steps one after the other', async (t) => {
      const done = await completes('seq', [200], 200);
      assert.deepEqual(steps(done.events), [200, 200, 200]);
      took(t, done);
    });

    await t.test('200 steps at once', async (t) => {
      const done = await completes('par', [200], 20_100);
      assert.deepEqual(steps(done.events), [200, 200, 200]);
      took(t, done);
    });

    await t.test('100 payloads of 10 KB at once, there and back', async (t) => {
      const done = await completes('payloads', [100, 10_240, true], { same: true, characters: 1_024_000 });
      assert.deepEqual(steps(done.events), [100, 100, 100]);
      took(t, done);
    });

    await t.test('30 payloads of 10 KB one after the other', async (t) => {
      took(t, await completes('payloads', [30, 10_240, false], { same: true, characters: 307_200 }));
    });

    await t.test('10 streams of 1 MB through a step that inverts them', async (t) => {
      // Chunk i of 16, counted from the last, is filled with i; inverted, with 255 - i.
      const sum = Array.from({ length: MB / CHUNK }, (_, i) => (255 - (i + 1)) * CHUNK).reduce((a, b) => a + b);
      const done = await completes('bigStreams', [10, MB], Array(10).fill({ bytes: MB, sum }));
      assert.deepEqual(steps(done.events), [30, 30, 30]);
      took(t, done);
      const { data } = await stack.api.get(`/v1/runs/${done.runId}/streams`);
      assert.equal(data.length, 20);
      for (const name of data) assert.deepEqual(await stack.api.get(`/v1/streams/${name}/info`), { tailIndex: MB / CHUNK - 1, done: true });
    });

    // Not the queue as a whole: SDK v5 leaves a wake-up in a quarter of an hour behind for each step that it saw run elsewhere.
    await t.test('nothing is left over but timers', async () => {
      for (const status of ['pending', 'running', 'failed']) assert.deepEqual(await stack.api.runs(status), []);
      for (const list of ['pending', 'active', 'archived']) {
        const command = list === 'archived' ? 'ZCARD' : 'LLEN';
        await until(`no ${list} message`, async () => (await stack.redis.command(command, `asynq:{workflow_flows}:${list}`)) === 0);
      }
      assert.doesNotMatch(stack.service.tail, /level=(WARN|ERROR)/);
    });
  });
}
