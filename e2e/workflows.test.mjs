// @ts-check
// The six kinds of work of a World, each with its exact result and a clean log, on every kind of Redis, and without
// fast paths.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

/**
 * What a row runs on; `fast` is WORKFLOW_WORLD_FAST_PATHS of service and app.
 * @type {(readonly [sdk: string, redis: 'embedded' | 'server' | 'cluster', fast: string])[]}
 */
const places = [
  ...sdks.flatMap(
    (sdk) =>
      /** @type {const} */ ([
        [sdk, 'embedded', 'all'],
        [sdk, 'server', 'all'],
        [sdk, 'server', 'none'],
      ]),
  ),
  ['v5', 'cluster', 'all'],
];

for (const [sdk, redis, fast] of places) {
  describe(`workflows of SDK ${sdk} on ${redis} Redis, fast paths: ${fast}`, () => {
    test('all of them', async (t) => {
      const env = { WORKFLOW_WORLD_FAST_PATHS: fast };
      const stack = await startStack(t, { sdk, redis, serviceEnv: env, appEnv: env });
      const { app, api } = stack;

      const complete = async (name, args, expected) => {
        const runId = await app.begin(name, ...args);
        assert.deepEqual(await app.outcome(runId), { status: 'completed', value: expected });
        return { runId, events: await checkEndedRun(api, runId) };
      };
      const countOf = (events, type) => events.filter((e) => e.eventType === type).length;

      await t.test('addition: one step', async () => {
        const { events } = await complete('addition', [19, 23], 42);
        assert.deepEqual(
          events.map((e) => e.eventType),
          ['run_created', 'run_started', 'step_created', 'step_started', 'step_completed', 'run_completed'],
        );
      });

      await t.test('seq: 25 steps in a row', async () => {
        const { events } = await complete('seq', [25], 25);
        assert.equal(countOf(events, 'step_completed'), 25);
        assert.equal(countOf(events, 'step_started'), 25);
      });

      await t.test('par: 50 steps side by side', async () => {
        const { events } = await complete('par', [50], 1275);
        assert.equal(countOf(events, 'step_created'), 50);
        assert.equal(countOf(events, 'step_completed'), 50);
      });

      await t.test('naps: a timer is never early', async () => {
        const { events } = await complete('naps', [1500], 'awake');
        const created = events.find((e) => e.eventType === 'wait_created');
        const completed = events.find((e) => e.eventType === 'wait_completed');
        assert.ok(completed.createdAt >= created.eventData.resumeAt, 'woke before the time it asked for');
      });

      await t.test('streamer: every byte, in order, whether read late or from the middle', async () => {
        const { runId } = await complete('streamer', [20, 1000], 20);
        const expected = Buffer.concat(Array.from({ length: 20 }, (_, i) => Buffer.alloc(1000, i)));
        assert.deepEqual(Buffer.from(await app.stream(runId)), expected);
        assert.deepEqual(Buffer.from(await app.stream(runId, 15)), expected.subarray(15_000));
        const [name] = (await api.get(`/v1/runs/${runId}/streams`)).data;
        assert.deepEqual(await api.get(`/v1/streams/${name}/info`), { tailIndex: 19, done: true });
      });

      await t.test('hookwf: waits for a payload, then gives up its token', async () => {
        const token = 'order/42 🚚';
        const runId = await app.begin('hookwf', token);
        const [hook] = await until('the hook', async () => {
          const hooks = await api.hooks(runId);
          return hooks.length > 0 && hooks;
        });
        assert.equal(hook.token, token);
        assert.equal((await app.resume(token, { v: 7 })).runId, runId);
        assert.deepEqual(await app.outcome(runId), { status: 'completed', value: { v: 7 } });
        const events = await checkEndedRun(api, runId);
        assert.equal(countOf(events, 'hook_received'), 1);
        await assert.rejects(app.resume(token, {}), { name: 'HookNotFoundError' });
      });

      await t.test('flaky: a step that fails twice is tried three times', async () => {
        const { events } = await complete('flaky', [3], 3);
        assert.equal(countOf(events, 'step_retrying'), 2);
      });

      await t.test('fatal: a step that fails for good fails the run', async () => {
        const runId = await app.begin('fatal', 'no such luck');
        const { status, error } = await app.outcome(runId);
        assert.equal(status, 'failed');
        assert.equal(error.name, 'WorkflowRunFailedError');
        assert.match(error.message, /no such luck/);
        const events = await checkEndedRun(api, runId);
        assert.equal(countOf(events, 'step_started'), 1);
      });

      const many = redis === 'server' && fast === 'all' ? 300 : 100;
      await t.test(`${many} runs, 20 at once: none fails, none is stuck`, async () => {
        const { outcomes, milliseconds } = await app.flood('addition', [1, 2], many, 20);
        t.diagnostic(`${many} runs in ${Math.round(milliseconds)} ms on ${redis} Redis`);
        assert.equal(outcomes.length, many);
        assert.deepEqual(
          outcomes.filter((o) => o.status !== 'completed' || o.value !== 3),
          [],
        );
        for (const { runId } of outcomes) await checkEndedRun(api, runId);
      });

      await t.test(`calls are sent ${fast === 'none' ? 'one by one' : 'in bundles'}, and this SDK may use every path`, async () => {
        const { text } = await api.request('/metrics');
        assert.ok(text.includes('route="/v1/runs/:runId/events"'));
        assert.equal(text.includes('route="/v1/calls"'), fast !== 'none');
        assert.doesNotMatch(app.child.output, /fast paths/);
      });

      await t.test('nothing is left over', async () => {
        assert.deepEqual(await api.runs('pending'), []);
        assert.deepEqual(await api.runs('running'), []);
        assert.deepEqual(await api.get('/v1/hooks').then((page) => page.data), []);
        await checkQueueEmpty(stack);
      });
    });
  });
}
