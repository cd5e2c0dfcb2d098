// @ts-check
// BR-03: the data in Redis was changed by hand, so that a run can never continue, or a step has a state that no event
// explains. At its next delivery, the run is failed with a code, or repaired, and logged. It is not delivered again
// and again. An ended run gets no deliveries, so the test need not watch it for minutes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';
import { damaged } from './lib/warns.mjs';

const key = (kind, runId, more = '') => `workflow:${kind}:{${runId}}${more}`;

for (const sdk of sdks) {
  test(`SDK ${sdk}: runs whose state and log differ`, { concurrency: true }, async (t) => {
    const stack = await startStack(t, { sdk, warns: [damaged] });
    const { app, api, redis, service } = stack;
    const find = async (runId, type) => until(type, async () => (await api.events(runId)).find((e) => e.eventType === type));
    const metric = async (name) => Number((await api.request('/metrics')).text.match(new RegExp(`^${name} (\\d+)$`, 'm'))?.[1]);
    const before = await app.deliveries();

    const lost = {
      'a wait that is done by its index, without the event': async (runId, { correlationId }) =>
        redis.command('ZADD', key('events:by_correlation', runId), 0, `${correlationId}/0000099`),
      'a wait that the log knows of, without the event': async (runId, { eventId }) =>
        redis.command('HDEL', key('event', runId), String((await api.events(runId)).findIndex((e) => e.eventId === eventId))),
    };
    await Promise.all([
      ...Object.entries(lost).map(([story, plant]) =>
        t.test(`${story}: the run fails with a code`, async () => {
          const runId = await app.begin('naps', 1_500);
          await plant(runId, await find(runId, 'wait_created'));
          const { status, error } = await app.outcome(runId);
          assert.deepEqual([status, error.code], ['failed', 'CORRUPTED_EVENT_LOG']);
          assert.match(service.tail, new RegExp(`an event is gone from the log of a run" run_id=${runId}`));
        }),
      ),
      .../** @type {[story: string, plant: (step: string) => Promise<unknown>][]} */ ([
        ['is over, without the event', (step) => redis.command('HSET', step, 's', 'completed')],
        ['is gone, and its events are there', (step) => redis.command('DEL', step)],
      ]).map(([story, plant]) =>
        t.test(`a step that ${story}: mended, and the run completes`, async () => {
          const runId = await app.begin('longStep', 3_000);
          const { correlationId } = await find(runId, 'step_started');
          await plant(key('step', runId, `:${correlationId}`));
          const { status, value } = await app.outcome(runId);
          assert.deepEqual([status, typeof value], ['completed', 'number'], JSON.stringify(value));
          await checkEndedRun(api, runId);
          assert.match(service.tail, new RegExp(`a step differed from its events and was rebuilt from them" run_id=${runId}`));
        }),
      ),
    ]);

    await t.test('few deliveries, each step ran once, and the damage is counted', async () => {
      assert.equal(await app.bodies(), 2);
      await checkQueueEmpty(stack);
      assert.deepEqual([await metric('world_redis_runs_lost_total'), await metric('world_redis_steps_mended_total')], [2, 2]);
      const after = await app.deliveries();
      const [flow, step] = ['flow', 'step'].map((kind) => after[kind] - before[kind]);
      // Two wake-ups per repaired step: the one queued after the refused event, and the one after the event.
      assert.ok(flow + step <= 18, `${flow} and ${step} deliveries for four runs`);
    });
  });
}
