// @ts-check
// Features of SDK v5 only: attributes, errors that keep their class, hooks that outlive their run, checking before
// claiming.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

test('SDK v5 only', async (t) => {
  const { app, api } = await startStack(t, { sdk: 'v5' });
  const hookOf = (runId) => until('the hook', async () => (await api.hooks(runId))[0]);

  await t.test('attributes: the last write wins, undefined deletes, a step writes too', async () => {
    const runId = await app.begin('attributes');
    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 'done' });
    assert.deepEqual((await api.run(runId)).attributes, { phase: 'two', step: 'wrote this' });
    const writers = (await checkEndedRun(api, runId)).filter((e) => e.eventType === 'attr_set').map((e) => e.eventData.writer.type);
    assert.deepEqual(writers, ['workflow', 'workflow', 'workflow', 'step']);
  });

  await t.test('attributes: an invalid one can be caught, and does not change the run', async () => {
    const runId = await app.begin('badAttribute', 'ü'.repeat(129));
    const { status, value } = await app.outcome(runId);
    assert.equal(status, 'completed');
    assert.match(value, /256/);
    assert.deepEqual((await api.run(runId)).attributes, {});
  });

  await t.test('an error of a step keeps its class, message and cause', async () => {
    const runId = await app.begin('errorWithCause');
    assert.deepEqual(await app.outcome(runId), {
      status: 'completed',
      value: { name: 'TypeError', message: 'typed', cause: 'RangeError: deep down' },
    });
    const [step] = await api.steps(runId);
    assert.deepEqual([step.status, step.attempt, step.error.__type], ['failed', 1, 'Uint8Array']);
  });

  await t.test('a hook with a retention holds its token after the end of its run, and accepts nothing more', async () => {
    const owner = await app.begin('retainedHook', 'kept');
    const hook = await hookOf(owner);
    await app.resume('kept', 'last');
    assert.deepEqual(await app.outcome(owner), { status: 'completed', value: 'last' });
    const events = await api.events(owner);
    const still = await api.get('/v1/hooks/by-token?token=kept');
    assert.deepEqual([still.hookId, still.runId], [hook.hookId, owner]);
    assert.ok(still.tokenRetentionUntil > Date.now() + 3_000_000);
    await app.resume('kept', 'too late').catch(() => undefined);
    assert.deepEqual(await api.events(owner), events);
    const late = await app.begin('claimCheck', 'kept');
    assert.deepEqual(await app.outcome(late), { status: 'completed', value: owner });
  });

  await t.test('a run with zero retention: finished and listed, but its input and output are gone', async () => {
    const runId = await app.beginWith({ experimental_retention: 0 }, 'seq', 2);
    await until('the end', async () => (await api.run(runId)).status === 'completed');
    await assert.rejects(app.outcome(runId), { name: 'RunExpiredError', message: /completed, but its data expired/ });
    const run = await api.run(runId);
    assert.ok(run.expiredAt <= Date.now());
    assert.deepEqual([run.input, run.output], [undefined, undefined]);
    assert.deepEqual(
      (await api.steps(runId)).map((s) => [s.status, s.input, s.output]),
      Array(2).fill(['completed', undefined, undefined]),
    );
    assert.ok((await api.runs('completed')).some((r) => r.runId === runId));
  });

  await t.test('a free token is claimed by the lookup', async () => {
    const runId = await app.begin('claimCheck', 'free');
    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 'free' });
    const types = (await checkEndedRun(api, runId)).map((e) => e.eventType);
    assert.ok(types.includes('hook_created') && !types.includes('hook_received'));
  });
});
