// @ts-check
// What the SDK promises whatever World is behind it, with exact results, attempts, statuses and events, on each SDK.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

for (const sdk of sdks) {
  test(`SDK ${sdk}: behaviours`, async (t) => {
    const { app, api } = await startStack(t, { sdk });

    const complete = async (workflow, args, expected) => {
      const runId = await app.begin(workflow, ...args);
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: expected });
      return { runId, events: await checkEndedRun(api, runId) };
    };
    const fail = async (workflow, args, message) => {
      const runId = await app.begin(workflow, ...args);
      const { status, error } = await app.outcome(runId);
      assert.deepEqual([status, error.name, error.code], ['failed', 'WorkflowRunFailedError', 'USER_ERROR']);
      assert.match(error.message, message);
      return { runId, events: await checkEndedRun(api, runId) };
    };
    const of = (events, type) => events.filter((e) => e.eventType === type);
    const stepsOf = async (runId) => (await api.steps(runId)).map((s) => [s.status, s.attempt]);
    const hookOf = (runId) => until('the hook', async () => (await api.hooks(runId))[0]);

    await t.test('results: a zero byte survives, metadata is the same everywhere', async () => {
      await complete('zeroByte', [], 'a\0b');
      const runId = await app.begin('metadata');
      const { value } = await app.outcome(runId);
      assert.equal(value.workflow.workflowRunId, runId);
      assert.equal(value.step.workflowRunId, runId);
      assert.equal(value.step.startedAt, value.workflow.startedAt);
      assert.equal(value.step.attempt, 1);
      assert.deepEqual(
        (await api.steps(runId)).map((s) => s.stepId),
        [value.step.stepId],
      );
      await checkEndedRun(api, runId);
    });

    await t.test('side by side: all, race, any; a sibling that is slower changes nothing', async () => {
      await complete('allOfThree', [], 'ABC');
      for (const [workflow, value] of [
        ['raceFastWins', 'B'],
        ['anySkipsFailure', 'B'],
      ]) {
        const runId = await app.begin(workflow);
        assert.deepEqual(await app.outcome(runId), { status: 'completed', value });
      }
      await complete('raceUntilEmpty', [], [0, 1, 2, 3, 4]);
    });

    await t.test('steps against sleeps: whichever is first, the other one is harmless', async () => {
      await complete('stepAgainstSleep', [100, 5000], 'step');
      await complete('stepAgainstSleep', [2500, 1000], 'sleep');
    });

    await t.test('timers: ten at once, three in a row, and one of a day that is left behind', async () => {
      const { events } = await complete('tenSleeps', [], 'awake');
      assert.equal(of(events, 'wait_completed').length, 10);
      const resumeAt = Object.fromEntries(of(events, 'wait_created').map((e) => [e.correlationId, e.eventData.resumeAt]));
      for (const e of of(events, 'wait_completed')) assert.ok(e.createdAt >= resumeAt[e.correlationId], 'woken too early');
      const { events: loop } = await complete('sleepInLoop', [], [1, 2, 3]);
      const [created, completed] = [of(loop, 'wait_created'), of(loop, 'wait_completed')];
      assert.equal(completed.length, 3);
      for (const [i, e] of completed.entries()) assert.ok(e.createdAt >= created[i].eventData.resumeAt, 'woken too early');
      await complete('dayLongSleep', [], { values: [3, 6, 10], woke: false });
    });

    await t.test('retries: exactly as many attempts as it takes', async () => {
      const { runId, events } = await complete('crashes', [3], 3);
      assert.deepEqual(await stepsOf(runId), [['completed', 3]]);
      assert.equal(of(events, 'step_retrying').length, 2);
      const fatal = await fail('fatal', ['no such luck'], /no such luck/);
      assert.deepEqual(await stepsOf(fatal.runId), [['failed', 1]]);
      const once = await fail('noRetries', [], /no second chance/);
      assert.deepEqual(await stepsOf(once.runId), [['failed', 1]]);
      assert.equal(of(once.events, 'step_retrying').length, 0);
    });

    await t.test('errors: caught, or the end of the run', async () => {
      const { runId } = await complete('fatalCaught', [], { fatal: true, message: 'caught me' });
      assert.deepEqual(await stepsOf(runId), [['failed', 1]]);
      const { events } = await fail('throwsItself', [], /thrown by the workflow/);
      assert.equal(events.at(-1).eventType, 'run_failed');
    });

    await t.test('tokens: free after disposal while the run lives, and after its end', async () => {
      const first = await app.begin('disposeThenSleep', 'reuse');
      await hookOf(first);
      await app.resume('reuse', 'for the first');
      await until('the disposal', async () => (await api.hooks(first)).length === 0);
      await assert.rejects(app.resume('reuse', 'nobody'), { name: 'HookNotFoundError' });
      const second = await app.begin('hookwf', 'reuse');
      assert.equal((await hookOf(second)).runId, second);
      await app.resume('reuse', 'for the second');
      assert.deepEqual(await app.outcome(second), { status: 'completed', value: 'for the second' });
      assert.deepEqual(await app.outcome(first), { status: 'completed', value: 'for the first' });
      const third = await app.begin('hookwf', 'reuse');
      await hookOf(third);
      await app.resume('reuse', 3);
      assert.deepEqual(await app.outcome(third), { status: 'completed', value: 3 });
      for (const runId of [first, second, third]) await checkEndedRun(api, runId);
    });

    await t.test('tokens: one run takes the same token three times', async () => {
      const runId = await app.begin('sameTokenAgain', 'again');
      const seen = new Set();
      for (const payload of ['a', 'b', 'c']) {
        const hook = await until('the next hook', async () => (await api.hooks(runId)).find((h) => !seen.has(h.hookId)));
        seen.add(hook.hookId);
        await app.resume('again', payload);
      }
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: ['a', 'b', 'c'] });
      const events = await checkEndedRun(api, runId);
      assert.deepEqual([of(events, 'hook_created').length, of(events, 'hook_conflict').length], [3, 0]);
    });

    await t.test('a hook beside a sleep of a day: three payloads, each through a step', async () => {
      const runId = await app.begin('hookBesideSleep', 'beside');
      await hookOf(runId);
      for (const n of [1, 2, 3]) await app.resume('beside', n);
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: [1, 2, 3] });
      assert.equal(of(await checkEndedRun(api, runId), 'hook_received').length, 3);
    });

    await t.test('ten rounds of two steps and a webhook: ten hooks, no conflict', async () => {
      const runId = await app.begin('stepsThenWebhook', 10);
      const seen = new Set();
      for (let i = 0; i < 10; i++) {
        const hook = await until(`webhook ${i}`, async () => (await api.hooks(runId)).find((h) => !seen.has(h.hookId)));
        seen.add(hook.hookId);
        const url = `${app.url}/.well-known/workflow/v1/webhook/${encodeURIComponent(hook.token)}`;
        assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 202);
      }
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 10 });
      const events = await checkEndedRun(api, runId);
      assert.deepEqual([of(events, 'hook_created').length, of(events, 'hook_conflict').length], [10, 0]);
    });
  });
}
