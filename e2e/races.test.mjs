// @ts-check
// Many concurrent operations in one run, repeatedly: steps, hooks and timers race each other while the log grows.
// Every run must complete, its ledger must add up, and its log must be complete.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { checkEndedRun } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const rounds = 3;
const branches = 5;
const runsOfEach = 2;

for (const sdk of sdks) {
  test(`SDK ${sdk}: races`, { concurrency: 3 }, async (t) => {
    // Not on SDK v4, whatever the World: its replay delays a sleep after payloads that nobody reads, but not a step's
    // result, which then overtakes the sleep that comes first in the log.
    const pokesUnread = sdk !== 'v4';
    const { app, api, redis } = await startStack(t, { sdk });

    /** Repeats `act` until the run has ended; returns its outcome. */
    const whileRunning = async (runId, act) => {
      let ended = false;
      const outcome = app.outcome(runId, 120_000).finally(() => (ended = true));
      outcome.catch(() => undefined);
      while (!ended) await act();
      return await outcome;
    };
    // A run that ends meanwhile has released its tokens.
    const poke = (token, payload) =>
      app.resume(token, payload).then(
        () => true,
        (error) => {
          assert.equal(error.name, 'HookNotFoundError', error.message);
          return false;
        },
      );
    const completed = async (runId, outcome) => {
      assert.equal(outcome.status, 'completed', JSON.stringify(outcome));
      return { value: outcome.value, events: await checkEndedRun(api, runId) };
    };
    const checkLedger = (ledger) => {
      assert.deepEqual(
        ledger.map(({ won, lost }) => won + lost),
        Array(rounds).fill(branches),
      );
    };
    const times = (name, story) =>
      t.test(name, async () => {
        await Promise.all(Array.from({ length: runsOfEach }, (_, i) => story(i)));
      });

    const stepStorm = times('step-storm: steps race a watchdog, on v5 while an unread hook is poked', async (i) => {
      const token = `storm/${i}`;
      const runId = await app.begin('stepStorm', token, rounds, branches);
      let pokes = 0;
      const outcome = await whileRunning(runId, async () => {
        await delay(pokes > 0 ? 100 : 25);
        if (pokesUnread && (await poke(token, 'poke'))) pokes++;
      });
      const { value, events } = await completed(runId, outcome);
      checkLedger(value);
      if (pokesUnread) assert.ok(pokes > 0);
      assert.equal(events.filter((e) => e.eventType === 'hook_received').length, pokes, 'every poke is in the log, once');
    });

    /** Resumes each new hook of a run, `gap` milliseconds apart, or all existing ones at the same time. */
    const hookStorm = (token, args, resumeAll) => async (i) => {
      const runId = await app.begin('hookStorm', `${token}/${i}`, rounds, branches, ...args);
      const seen = new Set();
      let accepted = 0;
      const outcome = await whileRunning(runId, async () => {
        const hooks = (await api.hooks(runId)).filter((hook) => !seen.has(hook.hookId));
        accepted += await resumeAll(hooks, seen);
        await delay(50);
      });
      const { value, events } = await completed(runId, outcome);
      checkLedger(value);
      const count = (type) => events.filter((e) => e.eventType === type).length;
      assert.equal(count('hook_received'), accepted, 'what was accepted is in the log');
      assert.equal(count('hook_created'), rounds * branches);
      assert.equal(count('hook_conflict'), 0);
      const won = value.reduce((sum, round) => sum + round.won, 0);
      assert.ok(won <= accepted, `${won} won, but ${accepted} were resumed`);
    };
    const oneByOne = async (hooks, seen) => {
      let accepted = 0;
      for (const { hookId, token } of hooks) {
        seen.add(hookId);
        if (await poke(token, 'go')) accepted++;
        await delay(150);
      }
      return accepted;
    };
    const burst = async (hooks, seen) => {
      if (hooks.length < branches) return 0;
      for (const { hookId } of hooks) seen.add(hookId);
      return (await Promise.all(hooks.map(({ token }) => poke(token, 'go')))).filter(Boolean).length;
    };

    const storms = [
      stepStorm,
      times('hook-storm: hooks race a watchdog, resumed one by one, so that some lose', hookStorm('hooks', [700, false], oneByOne)),
      times('blocked-branch: each hook only after a step, then all resumed in one burst', hookStorm('blocked', [3000, true], burst)),
      times('wake-loop: a hook and a heartbeat wake one loop; half of the wakes are stale', async (i) => {
        const token = `wakes/${i}`;
        const runId = await app.begin('wakeLoop', token, 12, 80);
        let n = 0;
        const outcome = await whileRunning(runId, async () => {
          await delay(100);
          const [a, b] = [n, n + 1];
          const woken = await Promise.all([a, b, Math.max(a - 1, 0), a].map((wake) => poke(token, wake)));
          if (woken.some(Boolean)) n += 2;
        });
        const { value } = await completed(runId, outcome);
        assert.equal(value.length, 12);
        assert.equal(new Set(value).size, 12);
      }),
      times('hook-sleep: the control, one hook beside eight sleeps', async (i) => {
        const runId = await app.begin('hookBesideSleeps', `control/${i}`);
        await until('the hook', async () => (await api.hooks(runId))[0]);
        await app.resume(`control/${i}`, 'woken');
        const { value, events } = await completed(runId, await app.outcome(runId));
        assert.equal(value, 'woken');
        assert.equal(events.filter((e) => e.eventType === 'wait_completed').length, 8);
      }),
    ];
    await Promise.all(storms);

    await t.test('no run failed or hangs, and no message is dead', async () => {
      for (const status of ['pending', 'running', 'failed', 'cancelled']) assert.deepEqual(await api.runs(status), [], status);
      const left = (queue, what) => redis.command(what === 'archived' ? 'ZCARD' : 'LLEN', `asynq:{workflow_${queue}}:${what}`);
      for (const queue of ['flows', 'steps']) {
        await until('deliveries to end', async () => (await left(queue, 'pending')) + (await left(queue, 'active')) === 0);
        assert.equal(await left(queue, 'archived'), 0);
      }
    });
  });
}
