// @ts-check
// Large volumes: logs that are read again and again, steps that all start at the same time, large payloads, large
// streams. A fifth of the official benchmarks; E2E_VOLUME=full does all of it, which takes many minutes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOn, typesOf } from './lib/rows.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const MB = 1 << 20;
const CHUNK = 64 * 1024;
const full = process.env.E2E_VOLUME === 'full';
const COUNTS = full ? { inARow: 1020, atOnce: 1000, payloads: 500, payloadsInARow: 50, streams: 50 } : { inARow: 200, atOnce: 200, payloads: 100, payloadsInARow: 30, streams: 10 };
const PATIENCE = full ? 900_000 : 60_000;

for (const sdk of sdks) {
  test(`SDK ${sdk}: volume`, { timeout: full ? 3_600_000 : undefined }, async (t) => {
    const stack = await startStack(t, { sdk });
    const { completes } = rowsOn(stack, PATIENCE);
    const steps = (events) => ['step_created', 'step_started', 'step_completed'].map((type) => typesOf(events).filter((e) => e === type).length);
    /** The run's duration by the service's clock, for the report. */
    const took = (t, { run }) => t.diagnostic(`${run.completedAt - run.createdAt} ms`);

    await t.test(`${COUNTS.inARow} steps one after the other`, async (t) => {
      const done = await completes('seq', [COUNTS.inARow], COUNTS.inARow);
      assert.deepEqual(steps(done.events), Array(3).fill(COUNTS.inARow));
      took(t, done);
    });

    await t.test(`${COUNTS.atOnce} steps at once`, async (t) => {
      const done = await completes('par', [COUNTS.atOnce], (COUNTS.atOnce * (COUNTS.atOnce + 1)) / 2);
      assert.deepEqual(steps(done.events), Array(3).fill(COUNTS.atOnce));
      took(t, done);
    });

    await t.test(`${COUNTS.payloads} payloads of 10 KB at once, there and back`, async (t) => {
      const done = await completes('payloads', [COUNTS.payloads, 10_240, true], { same: true, characters: COUNTS.payloads * 10_240 });
      assert.deepEqual(steps(done.events), Array(3).fill(COUNTS.payloads));
      took(t, done);
    });

    await t.test(`${COUNTS.payloadsInARow} payloads of 10 KB one after the other`, async (t) => {
      const [count, size] = [COUNTS.payloadsInARow, 10_240];
      took(t, await completes('payloads', [count, size, false], { same: true, characters: count * size }));
    });

    // More than fits into a page of a list, and more than fits into an answer: the SDK lists page by page.
    await t.test('12 payloads of 1 MB at once, there and back', async (t) => {
      const done = await completes('payloads', [12, MB, true], { same: true, characters: 12 * MB });
      assert.deepEqual(steps(done.events), Array(3).fill(12));
      took(t, done);
    });

    await t.test('5 payloads of 1 MB one after the other', async (t) => {
      took(t, await completes('payloads', [5, MB, false], { same: true, characters: 5 * MB }));
    });

    await t.test(`${COUNTS.streams} streams of 1 MB through a step that inverts them`, async (t) => {
      // Chunk i of 16, counted from the last, is filled with i; inverted, with 255 - i.
      const sum = Array.from({ length: MB / CHUNK }, (_, i) => (255 - (i + 1)) * CHUNK).reduce((a, b) => a + b);
      const done = await completes('bigStreams', [COUNTS.streams, MB], Array(COUNTS.streams).fill({ bytes: MB, sum }));
      // Two replays of SDK v5 may race for a step, and each starts it: the SDK says so where it counts attempts, and its
      // local World lets both through, too. That happens to one run in some dozens while the machine is busy.
      const [created, started, completed] = steps(done.events);
      assert.deepEqual([created, completed], [3 * COUNTS.streams, 3 * COUNTS.streams]);
      assert.ok(sdk === 'v4' ? started === created : started >= created, `${started} starts of ${created} steps`);
      took(t, done);
      const { data } = await stack.api.get(`/v1/runs/${done.runId}/streams`);
      assert.equal(data.length, 2 * COUNTS.streams);
      for (const name of data) assert.deepEqual(await stack.api.get(`/v1/streams/${name}/info`), { tailIndex: MB / CHUNK - 1, done: true });
    });

    // Not the whole queue: SDK v5 leaves a wake-up in a quarter of an hour for each step that it saw running
    // elsewhere.
    await t.test('only timers are left', async () => {
      for (const status of ['pending', 'running', 'failed']) assert.deepEqual(await stack.api.runs(status), []);
      for (const list of ['pending', 'active', 'archived']) {
        const command = list === 'archived' ? 'ZCARD' : 'LLEN';
        await until(`no ${list} message`, async () => (await stack.redis.command(command, `asynq:{workflow_flows}:${list}`)) === 0);
      }
      assert.doesNotMatch(stack.service.tail, /level=(WARN|ERROR)/);
    });
  });
}
