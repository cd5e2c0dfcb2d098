// @ts-check
// Hooks as claims on SDK v5: before it waits for anything, a run checks which run holds a token, and acts on the
// result.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

test('SDK v5: claims', { concurrency: 6 }, async (t) => {
  const { app, api } = await startStack(t, { sdk: 'v5' });
  const row = (name, story) => rows.push(t.test(name, story));
  const rows = [];

  const hookOf = (runId) => until('the hook', async () => (await api.hooks(runId))[0]);
  const logged = (runId, type) => until(type, async () => (await api.events(runId)).find((e) => e.eventType === type));
  const typesOf = async (runId) => (await checkEndedRun(api, runId)).map((e) => e.eventType);
  const completed = async (runId, value) => assert.deepEqual(await app.outcome(runId), { status: 'completed', value });
  const tokenIsFree = (token) => assert.rejects(app.hook(token), { name: 'HookNotFoundError', message: /not found/i });
  /** A run that waits for its token. */
  const owner = async (workflow, ...args) => {
    const runId = await app.begin(workflow, ...args);
    await hookOf(runId);
    return runId;
  };

  row('three payloads in order, with the note that the hook carries; a token that nobody has is not found', async () => {
    const runId = await owner('hookWithMetadata', 'noted', { custom: 'data', list: [1, 2] });
    const found = await app.hook('noted');
    assert.deepEqual([found.runId, found.metadata], [runId, { note: { custom: 'data', list: [1, 2] } }]);
    const payloads = [{ n: 1 }, { n: 2 }, { n: 3, last: true }];
    for (const payload of payloads) await app.resume('noted', payload);
    await completed(runId, payloads);
    await tokenIsFree('noted');
    await tokenIsFree('never heard of');
    await assert.rejects(app.resume('never heard of', 1), { name: 'HookNotFoundError' });
  });

  row('a lookup alone', async () => {
    const runId = await app.begin('claimCheck', 'alone');
    await completed(runId, 'free');
    const types = await typesOf(runId);
    assert.deepEqual(
      types.filter((type) => type.startsWith('hook_')),
      ['hook_created'],
    );
  });

  for (const [workflow, step] of [
    ['claimAfterStep', 'before'],
    ['claimBesideStep', 'beside'],
  ]) {
    row(`a lookup with a step ${step} it`, async () => {
      const runId = await app.begin(workflow, workflow);
      await completed(runId, { conflict: null, step });
      const types = await typesOf(runId);
      for (const type of ['hook_created', 'step_created', 'step_completed']) assert.ok(types.includes(type), type);
      for (const type of ['hook_received', 'hook_conflict']) assert.ok(!types.includes(type), type);
    });
  }

  row('a step after the lookup begins while a slow step is still in progress', async () => {
    const runId = await app.begin('claimThenStepBesideSlowOne', 'slow', 4000);
    const { status, value } = await app.outcome(runId);
    assert.deepEqual([status, value.conflict], ['completed', null]);
    assert.ok(value.tookSlow >= 3990, `${value.tookSlow}`);
    assert.ok(value.before > 0, 'the second step began before the slow one ended');
    await checkEndedRun(api, runId);
  });

  row('the second run sees the owner, and that it is running', async () => {
    const first = await owner('claimOrTell', 'seen');
    const second = await app.begin('claimOrTell', 'seen');
    const third = await app.begin('claimOrTellFromStep', 'seen');
    for (const runId of [second, third]) {
      await completed(runId, { owner: first, status: 'running' });
      assert.equal((await logged(runId, 'hook_conflict')).eventData.conflictingRunId, first);
      await checkEndedRun(api, runId);
    }
    await app.resume('seen', 'still mine');
    await completed(first, { payload: 'still mine' });
    assert.ok(!(await typesOf(first)).includes('hook_conflict'));
  });

  row('a lock without a payload: held, reported, released, taken by a third run', async () => {
    const first = await owner('mutex', 'lock', 5000);
    const second = await app.begin('mutex', 'lock', 0);
    await completed(second, { owner: first });
    await completed(first, { owner: null });
    await tokenIsFree('lock');
    const third = await app.begin('mutex', 'lock', 0);
    await completed(third, { owner: null });
    for (const runId of [first, third]) assert.ok(!(await typesOf(runId)).includes('hook_received'));
  });

  row('a token that is kept after the end: found, not resumed, and in the way', async () => {
    const first = await app.begin('keepsToken', 'minute');
    await completed(first, 'mine');
    assert.equal((await app.hook('minute')).runId, first);
    const events = await api.events(first);
    await app.resume('minute', 'too late').catch((error) => assert.equal(error.name, 'HookNotFoundError', error.message));
    const second = await app.begin('keepsToken', 'minute');
    await completed(second, { owner: first, status: 'completed' });
    assert.deepEqual(await api.events(first), events);
    assert.ok(!events.some((e) => e.eventType === 'hook_received'));
  });

  row('the second run adopts the result of the owner', async () => {
    const first = await owner('adoptResult', 'adopt');
    const second = await app.begin('adoptResult', 'adopt');
    assert.equal((await logged(second, 'hook_conflict')).eventData.conflictingRunId, first);
    await app.resume('adopt', { exactly: ['this'] });
    for (const runId of [first, second]) {
      await completed(runId, { result: { exactly: ['this'] }, of: 'the owner' });
      await checkEndedRun(api, runId);
    }
  });

  row('the second run passes its payload to the owner', async () => {
    const first = await owner('signalOwner', 'signal', 'of the first');
    const second = await app.begin('signalOwner', 'signal', 'of the second');
    await completed(second, { forwardedTo: first, owner: first });
    await completed(first, { got: 'of the second' });
    for (const runId of [first, second]) await checkEndedRun(api, runId);
  });

  row('the second run cancels the owner and takes the token', async () => {
    const first = await owner('supersede', 'throne');
    const second = await app.begin('supersede', 'throne');
    const { status, error } = await app.outcome(first);
    assert.deepEqual([status, error.name], ['cancelled', 'WorkflowRunCancelledError']);
    await until('the new owner', async () => (await app.hook('throne')).runId === second);
    await app.resume('throne', 'long live');
    await completed(second, { got: 'long live' });
    for (const runId of [first, second]) await checkEndedRun(api, runId);
  });

  row('resume, or otherwise start and resume', async () => {
    await assert.rejects(app.resume('lazy', 'hello'), { name: 'HookNotFoundError' });
    const runId = await app.begin('hookwf', 'lazy');
    const resumed = await until('the hook', () => app.resume('lazy', 'hello'));
    assert.equal(resumed.runId, runId);
    await completed(runId, 'hello');
    assert.equal((await typesOf(runId)).filter((type) => type === 'hook_received').length, 1);
  });

  row('two payloads beside a sleep of a day, and a step only at the end', async () => {
    const runId = await owner('hookBesideSleepThenStep', 'late-step');
    await app.resume('late-step', 1);
    await app.resume('late-step', 2);
    await completed(runId, { payloads: [1, 2], step: 'processed' });
    const types = await typesOf(runId);
    assert.equal(types.filter((type) => type === 'hook_received').length, 2);
    assert.ok(types.lastIndexOf('hook_received') < types.indexOf('step_created'));
  });

  for (const workflow of ['sameTokenUsing', 'sameTokenLooking']) {
    row(`${workflow}: one run takes the same token three times, a new hook each time`, async () => {
      const runId = await app.begin(workflow, workflow);
      const seen = new Set();
      for (const payload of ['a', 'b', 'c']) {
        const hook = await until('the next hook', async () => (await api.hooks(runId)).find((h) => !seen.has(h.hookId)));
        seen.add(hook.hookId);
        assert.equal((await app.resume(workflow, payload)).runId, runId);
      }
      await completed(runId, ['a', 'b', 'c']);
      const types = await typesOf(runId);
      assert.deepEqual(
        ['hook_created', 'hook_disposed', 'hook_conflict'].map((type) => types.filter((t) => t === type).length),
        [3, 3, 0],
      );
    });
  }

  await Promise.all(rows);
});
