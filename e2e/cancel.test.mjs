// @ts-check
// Runs that are cancelled, and tokens that two runs want.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const logged = (api, runId, type) => () => api.events(runId).then((events) => events.find((e) => e.eventType === type));

for (const sdk of sdks) {
  test(`SDK ${sdk}: cancelled runs, and tokens that are held`, async (t) => {
    const { app, api, redis } = await startStack(t, { sdk });

    await t.test('a run that sleeps for a minute is cancelled at once', async () => {
      const runId = await app.begin('naps', 60_000);
      await until('the timer', logged(api, runId, 'wait_created'));
      await app.cancel(runId);
      const { status, error } = await app.outcome(runId);
      assert.equal(status, 'cancelled');
      assert.equal(error.name, 'WorkflowRunCancelledError');
      await checkEndedRun(api, runId);
    });

    await t.test('a run that is parked on a hook is cancelled, and its token is free', async () => {
      const token = 'parked';
      const runId = await app.begin('parked', token);
      await until('the hook', logged(api, runId, 'hook_created'));
      await app.cancel(runId);
      assert.equal((await app.outcome(runId)).status, 'cancelled');
      await checkEndedRun(api, runId);
      await assert.rejects(app.resume(token, {}), { name: 'HookNotFoundError' });

      const next = await app.begin('hookwf', token);
      await until('the hook of the next run', logged(api, next, 'hook_created'));
      await app.resume(token, 'mine now');
      assert.deepEqual(await app.outcome(next), { status: 'completed', value: 'mine now' });
    });

    await t.test('a second run cannot take a token that is held; the first one keeps it', async () => {
      const token = 'only/one';
      const owner = await app.begin('hookwf', token);
      await until('the hook', logged(api, owner, 'hook_created'));
      const intruder = await app.begin('hookwf', token);
      const { status, error } = await app.outcome(intruder);
      assert.equal(status, 'failed');
      assert.match(error.message, /already in use/);
      const conflict = await logged(api, intruder, 'hook_conflict')();
      assert.equal(conflict.eventData.conflictingRunId, owner);

      await app.resume(token, 1);
      assert.deepEqual(await app.outcome(owner), { status: 'completed', value: 1 });
      for (const runId of [owner, intruder]) await checkEndedRun(api, runId);
    });

    await t.test('a hook takes any number of payloads, in order', async () => {
      const token = 'collect';
      const runId = await app.begin('collect', token);
      await until('the hook', logged(api, runId, 'hook_created'));
      for (let n = 1; n <= 10; n++) await app.resume(token, { n, last: n === 10 });
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] });
      await checkEndedRun(api, runId);
    });

    await t.test('cancelling what has ended changes nothing', async () => {
      const runId = await app.begin('addition', 1, 1);
      await app.outcome(runId);
      await assert.rejects(app.cancel(runId));
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 2 });
      await checkEndedRun(api, runId);
    });

    // BR-12 (d). The step of a cancelled run is not told; what it comes to changes nothing.
    await Promise.all(
      ['returns', 'throws', 'again'].map((end) =>
        t.test(`BR-12: a run is cancelled in the middle of a step, which ${end === 'again' ? 'asks for another try' : end} then`, async () => {
          const folder = await mkdtemp(join(tmpdir(), 'world-redis-e2e-'));
          t.after(() => rm(folder, { recursive: true, force: true }));
          const [journal, gate] = [join(folder, 'journal'), join(folder, 'gate')];
          const runId = await app.begin('cancelledInStep', journal, gate, end);
          const lines = () =>
            readFile(journal, 'utf8').then(
              (text) => text.split('\n').filter(Boolean),
              () => [],
            );
          await until('the step', async () => (await lines()).length === 1 && (await api.steps(runId))[0]?.attempt === 1);
          await app.cancel(runId);
          await app.cancel(runId);
          await writeFile(gate, '');
          await until('the step to end', async () => (await lines()).length === 2);
          await until('its messages to go', async () => (await api.get(`/v1/runs/${runId}/messages`)).data.length === 0);
          assert.deepEqual(await lines(), ['begin', 'end'], 'no second try');
          assert.equal((await app.outcome(runId)).status, 'cancelled');
          const events = await api.events(runId);
          const types = events.map((e) => e.eventType);
          assert.deepEqual([types.filter((type) => type === 'step_created').length, types.includes('run_completed')], [1, false]);
          assert.deepEqual(
            (await api.steps(runId)).map((s) => s.attempt),
            [1],
          );
        }),
      ),
    );

    await t.test('of the cancelled runs only a timer that is not awaited is left in the queue', async () => {
      assert.deepEqual(await api.runs('running'), []);
      assert.equal(await redis.command('LLEN', 'asynq:{workflow_flows}:pending'), 0);
      await until('deliveries to end', async () => (await redis.command('LLEN', 'asynq:{workflow_flows}:active')) === 0);
      assert.equal(await redis.command('ZCARD', 'asynq:{workflow_flows}:archived'), 0);
    });
  });
}
