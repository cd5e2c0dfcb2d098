// @ts-check
// Streams that are written after their run has ended: nothing is refused or lost, and a live reader receives the end
// only when the stream has been quiet. They are written through one replica and read through the other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api } from './lib/api.mjs';
import { App } from './lib/app.mjs';
import { readLive, storedParts, streamOf } from './lib/liveReader.mjs';
import { freePort } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const QUIET = 5000;
const serviceEnv = { WORKFLOW_WORLD_STREAM_QUIET: `${QUIET}ms` };

/** Milliseconds between two chunks, and the number of chunks: a row takes six seconds, or the longest gap once. */
const GAPS = [
  [500, 10],
  [1500, 4],
  [3000, 3],
  [12_000, 2],
];

const ENDS = {
  'before the first chunk': ({ gap }) => ({ first: gap, lasts: 0 }),
  'in the middle': ({ gap, count }) => ({ first: 0, lasts: ((count - 1) * gap) / 2 }),
  'after the last chunk': ({ gap, count }) => ({ first: 0, lasts: (count - 1) * gap + 300 }),
};

const ROWS = GAPS.flatMap(([gap, count]) =>
  Object.entries(ENDS).flatMap(([end, plan]) => {
    const { first, lasts } = plan({ gap, count });
    const chunks = first === 12_000 ? 1 : count;
    return [true, false].map((closes) => ({ end, gap, lasts, plan: { first, gap, count: chunks, closes } }));
  }),
);

const numbers = (count) => Array.from({ length: count }, (_, i) => i);

test('streams and the end of their run', { concurrency: true }, async (t) => {
  const [first, ...others] = sdks;
  const stack = await startStack(t, { sdk: first, deploymentId: first, serviceEnv });
  const replica = await stack.startSecondService(serviceEnv);
  t.after(() => replica.stop());
  const apps = [stack.app];
  for (const sdk of others) {
    const app = new App({ sdk, deploymentId: sdk, service: stack.service, port: await freePort() });
    t.after(() => app.stop());
    await app.start();
    apps.push(app);
  }
  const there = new Api(replica.url);

  const row = (app, { end, gap, lasts, plan }) =>
    t.test(`SDK ${app.sdk}: a gap of ${gap} ms, the run ends ${end}, the stream is ${plan.closes ? 'closed' : 'left open'}`, async () => {
      const runId = await app.begin('outlived', plan, lasts);
      const name = streamOf(runId);
      const live = await readLive([replica.url], name);
      assert.equal((await app.outcome(runId)).status, 'completed');
      const stored = await until(
        'all chunks and the end',
        async () => {
          const { parts, done } = await storedParts(there, name);
          const [{ chunks }] = parts;
          return done && chunks.length >= plan.count && chunks;
        },
        { timeout: 30_000, every: 250 },
      );

      assert.deepEqual(await app.values(runId), numbers(plan.count), 'a later reader sees everything');
      // The end is inferred from a silence longer than the service's setting; a longer gap after the run's end counts
      // as one.
      if (gap < QUIET || end === 'after the last chunk') assert.equal(live.chunks.length, plan.count, 'the live reader sees everything');
      assert.deepEqual(live.chunks, stored.slice(0, live.chunks.length), 'the live reader sees the same');
    });

  const returned = (app) =>
    t.test(`SDK ${app.sdk}: a step returns a stream of ten chunks, a second apart, and the workflow returns it`, async () => {
      const runId = await app.begin('returnsStream', 10, 1000);
      const response = await fetch(`${app.url}/returned-stream/${runId}`, { signal: AbortSignal.timeout(60_000) });
      assert.equal(
        await response.text(),
        numbers(10)
          .map((n) => `line ${n}\n`)
          .join(''),
      );
      assert.equal((await app.outcome(runId)).status, 'completed');
    });

  await Promise.all(apps.flatMap((app) => [...ROWS.map((plan) => row(app, plan)), returned(app)]));
});
