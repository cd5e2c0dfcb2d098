// @ts-check
// Streams that are written after others would have ended: by steps that run again after they closed their stream,
// because they failed or their app was killed, and by a step that returned a stream. Readers of the former get what
// the SDK's local World gives for the same workflow: the end of the first execution keeps its place.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { checkEndedRun } from './lib/invariants.mjs';
import { storedParts, streamOf } from './lib/liveReader.mjs';
import { safe } from './lib/redis.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';
import { redisAway } from './lib/warns.mjs';

/** Two executions that each wrote three chunks and closed the stream. */
async function checkBoth({ app, api }, runId) {
  assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 2 });
  const from = (startIndex) => app.values(runId, 60_000, { startIndex });
  assert.deepEqual(await from(0), ['a1', 'b1', 'c1'], 'a reader ends at the first end');
  assert.deepEqual(await from(4), ['a2', 'b2', 'c2'], 'the first end has taken an index');
  assert.deepEqual(await from(-1), ['c2']);
  await checkEndedRun(api, runId);
}

for (const sdk of sdks) {
  test(`SDK ${sdk}: a step may close its stream in each of its executions`, async (t) => {
    const stack = await startStack(t, { sdk });
    const { app, api } = stack;

    await t.test('the first one fails after its close', async () => {
      const runId = await app.begin('closesTwice', 'throws');
      const live = app.values(runId);
      assert.deepEqual(await live, ['a1', 'b1', 'c1']);
      await checkBoth(stack, runId);
    });

    await t.test('the same with a stream that it gets as an argument', async () => {
      await checkBoth(stack, await app.begin('closesGiven', 'throws'));
    });

    await t.test('the same while another step holds that stream, too', async () => {
      const gate = join(mkdtempSync(join(tmpdir(), 'gate-')), 'open');
      const runId = await app.begin('closesShared', gate);
      await until('the first close', async () => (await storedParts(api, streamOf(runId))).done);
      writeFileSync(gate, '');
      await checkBoth(stack, runId);
    });

    await t.test('the app is killed between its close and its completion', async () => {
      const runIds = await Promise.all(['closesTwice', 'closesGiven'].map((workflow) => app.begin(workflow, 'waits')));
      for (const runId of runIds) await until('the close', async () => (await storedParts(api, streamOf(runId))).done);
      await app.kill();
      await app.start();
      for (const runId of runIds) await checkBoth(stack, runId);
    });

    await t.test('another step may not write after it', async () => {
      for (const [workflow, written] of [
        ['closesAndAnother', ['a1']],
        ['closesGivenAndAnother', ['a1', 'b1', 'c1']],
      ]) {
        const runId = await app.begin(workflow);
        // SDK v4 only logs it: it does not wait for a step's writes.
        assert.deepEqual(await app.outcome(runId), { status: 'completed', value: sdk === 'v4' ? 'taken' : 'refused' });
        assert.deepEqual(await app.values(runId), written);
        assert.equal((await storedParts(api, streamOf(runId))).parts.length, 1);
      }
    });
  });
}

for (const sdk of sdks) {
  test(`SDK ${sdk}: a stream that a step returns is complete, although Redis is away for longer than other writes are retried`, async (t) => {
    const { app, api, redis } = await startStack(t, { sdk, redisArgs: safe, appEnv: { WORKFLOW_WORLD_STREAM_RETRY_SECONDS: '1' }, warns: [redisAway] });
    const runId = await app.begin('returnsStream', 20, 100);
    await until('three chunks', async () => {
      const [name] = (await api.get(`/v1/runs/${runId}/streams`)).data;
      return name && (await api.get(`/v1/streams/${name}/info`)).tailIndex >= 2;
    });

    await redis.kill();
    await delay(4_000);
    await redis.resume();

    // SDK v5 has completed the run and continues to write. SDK v4 does not complete the step before that, so the step
    // runs again.
    assert.equal((await app.outcome(runId)).status, 'completed');
    const response = await fetch(`${app.url}/returned-stream/${runId}`, { signal: AbortSignal.timeout(60_000) });
    assert.equal(await response.text(), Array.from({ length: 20 }, (_, i) => `line ${i}\n`).join(''));
  });
}
