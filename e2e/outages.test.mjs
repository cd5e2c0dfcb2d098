// @ts-check
// Redis is unavailable while steps write streams: no chunk is lost, and no step is completed without what it wrote.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { checkEndedRun } from './lib/invariants.mjs';
import { safe } from './lib/redis.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';
import { redisAway } from './lib/warns.mjs';

/** The final chunks of writers like `slowTicks` if only one execution wrote. */
const ticks = (attempt, count) => Array.from({ length: count }, (_, i) => `${attempt}:${i}`);

/** Waits until this many chunks of the run's only stream are stored; returns its name. */
async function stored(api, runId, count) {
  return until(`${count} chunks`, async () => {
    const [name] = (await api.get(`/v1/runs/${runId}/streams`)).data;
    return name && (await api.get(`/v1/streams/${name}/info`)).tailIndex >= count - 1 && name;
  });
}

// The tests mostly wait, so several run at the same time.
suite('Redis is away', { concurrency: 3 }, () => {
  for (const sdk of sdks) {
    test(`SDK ${sdk}: it answers no call for twelve seconds: a step's chunks are stored once and in order, by one execution`, async (t) => {
      const { app, api, redis } = await startStack(t, { sdk, warns: [redisAway] });
      const runId = await app.begin('slowTicks', 20, 200);
      await stored(api, runId, 3);

      redis.freeze();
      await delay(12_000);
      redis.thaw();

      await checkTicks(app, api, runId);
    });

    test(`SDK ${sdk}: it is dead for twelve seconds: the same, and a step that would write 100 MiB is blocked at 8 MiB`, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'world-redis-e2e-'));
      t.after(() => rm(folder, { recursive: true, force: true }));
      const [gate, progress] = [join(folder, 'gate'), join(folder, 'progress')];
      const { app, api, redis } = await startStack(t, { sdk, redisArgs: safe, warns: [redisAway] });
      const flood = await app.begin('flood', 100, gate, progress);
      const name = await stored(api, flood, 1);
      const runId = await app.begin('slowTicks', 20, 200);
      await stored(api, runId, 3);

      await redis.kill();
      await writeFile(gate, '');
      await delay(12_000);
      const made = Number(await readFile(progress, 'utf8'));
      await redis.resume();

      await checkTicks(app, api, runId);
      assert.ok(made > 1 && made <= 11, `it got rid of ${made} MiB while one was stored`);
      assert.deepEqual(await app.outcome(flood), { status: 'completed', value: 1 });
      assert.deepEqual(await api.get(`/v1/streams/${name}/info`), { tailIndex: 99, done: true });
    });

    test(`SDK ${sdk}: it is dead for longer than writes are retried: steps run once more, and their streams are then complete`, async (t) => {
      const { app, api, redis } = await startStack(t, { sdk, redisArgs: safe, appEnv: { WORKFLOW_WORLD_STREAM_RETRY_SECONDS: '4' }, warns: [redisAway] });
      // The careless step has returned when its write is abandoned, so only the client can make it run again.
      const runIds = [await app.begin('slowTicks', 30, 200), await app.begin('carelessTicks', 30, 100)];
      for (const runId of runIds) await stored(api, runId, 3);

      await redis.kill();
      await delay(8_000);
      await redis.resume();

      for (const runId of runIds) {
        assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 2 });
        const values = await app.values(runId);
        const of = (attempt) => values.filter((value) => value.startsWith(`${attempt}:`));
        assert.deepEqual(of(2), ticks(2, 30));
        assert.deepEqual(of(1), ticks(1, of(1).length), 'the first execution got as far as Redis was there');
        await checkEndedRun(api, runId);
      }
    });

    test(`SDK ${sdk}: it is dead for five seconds: start() and resumeHook() succeed late; for fifteen they fail, and say why`, async (t) => {
      const { app, api, redis } = await startStack(t, { sdk, redisArgs: safe, warns: [redisAway] });
      const token = `outage ${sdk}`;
      const waiting = await app.begin('hookwf', token);
      await until('the hook', () => app.hook(token));

      await redis.kill();
      const calls = [app.begin('addition', 1, 2), app.resume(token, 'yes')];
      await delay(5_000);
      await redis.resume();
      const [runId] = await Promise.all(calls);
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 3 });
      assert.deepEqual(await app.outcome(waiting), { status: 'completed', value: 'yes' });
      await checkEndedRun(api, runId);
      await checkEndedRun(api, waiting);

      await redis.kill();
      const failing = [app.begin('addition', 1, 2), app.resume(token, 'no'), app.hook(token)].map((call) => call.catch((error) => error));
      const errors = await Promise.all(failing);
      await redis.resume();
      for (const { name, message } of errors) {
        assert.equal(name, 'WorkflowWorldError', message);
        assert.match(message, /Redis (is not reachable|does not answer)/);
      }
      assert.deepEqual(await app.outcome(await app.begin('addition', 1, 2)), { status: 'completed', value: 3 });
    });
  }
});

async function checkTicks(app, api, runId) {
  assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 1 });
  assert.deepEqual(await app.values(runId), ticks(1, 20));
  await checkEndedRun(api, runId);
}
