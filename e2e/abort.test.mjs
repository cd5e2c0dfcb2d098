// @ts-check
// AbortController on SDK v5: a hook that makes it durable, and a stream that carries it to running steps. An aborted
// step would otherwise continue for 30 s and report that it finished; none may.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { Outsider } from './lib/outsider.mjs';
import { portOf } from './lib/process.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

test('SDK v5: abort', { concurrency: 6 }, async (t) => {
  const { app, api, service } = await startStack(t, { sdk: 'v5' });
  const rows = [];
  const row = (name, story) => rows.push(t.test(name, story));

  const count = (events, type) => events.filter((e) => e.eventType === type).length;
  const completed = async (runId, value) => {
    assert.deepEqual(await app.outcome(runId), { status: 'completed', value });
    return await checkEndedRun(api, runId);
  };
  const complete = async (workflow, args, value) => completed(await app.begin(workflow, ...args), value);

  row('a sleep wins against a step, whose signal is aborted', async () => {
    const events = await complete('abortOnTimeout', [500], { first: 'timed out', aborted: true, step: 'aborted' });
    assert.deepEqual([count(events, 'hook_created'), count(events, 'hook_received')], [1, 1]);
  });

  row('three steps side by side, one that looks and two that listen', () => complete('abortThree', [500], ['aborted', 'aborted', 'aborted']));

  row('one step aborts another; the workflow and a later step see it', () =>
    complete('abortFromSibling', [], {
      long: { end: 'aborted', reason: 'enough' },
      workflow: true,
      later: { aborted: true, reason: 'enough' },
    }),
  );

  row('aborted before any step, with each kind of reason', async () => {
    for (const reason of ['a text', { code: 7, nested: ['object'] }]) {
      await complete('alreadyAborted', [reason], { step: { aborted: true, reason }, after: true, reason });
    }
    const { status, value } = await app.outcome(await app.begin('alreadyAborted'));
    assert.deepEqual([status, value.step.aborted, value.after], ['completed', true, true]);
  });

  row('after the step has ended: it is not affected', () => complete('abortAfterCompletion', [], { step: { end: 'finished' }, aborted: true }));

  row('by a hook of the user', async () => {
    const runId = await app.begin('abortByHook', 'stop-button');
    await until('the hook', async () => (await api.hooks(runId)).find((hook) => hook.token === 'stop-button'));
    await app.resume('stop-button', { reason: 'pressed' });
    await completed(runId, { end: 'aborted', reason: 'pressed' });
  });

  row('any of two signals, in the workflow and in a step', () => complete('anySignal', [], { workflow: true, reason: 'the second', step: 'the second' }));

  row('a listener in the workflow: the same order at each replay', () => complete('listenerInWorkflow', [], ['before-abort', 'listener', 'after-abort', 'true']));

  for (const [listenFirst, stepBetween] of [
    [true, false],
    [false, false],
    [true, true],
    [false, true],
  ]) {
    const when = `${listenFirst ? 'before' : 'after'} a hook, aborted ${stepBetween ? 'a step after' : 'by'} its payload`;
    row(`a listener in the workflow, ${when}: called between the abort and what follows it`, async () => {
      const token = `listener/${listenFirst}/${stepBetween}`;
      const runId = await app.begin('listenerBesideHook', token, listenFirst, stepBetween);
      await until('the hook', async () => (await api.hooks(runId)).find((hook) => hook.token === token));
      await app.resume(token, 'payload');
      const events = await completed(runId, ['payload', ...(stepBetween ? ['step'] : []), 'listener', 'after-abort', 'aborted']);
      assert.equal(count(events, 'hook_received'), 2, 'the payload and the abort');
    });
  }

  row('a sleep that nobody awaits aborts the step that is awaited', () => complete('voidSleep', [500], { end: 'aborted', reason: 'time is up' }));

  for (const [who, byStep] of [
    ['the workflow', false],
    ['a step', true],
  ]) {
    row(`a branch after an abort by ${who}: the same at each replay`, () => complete('branchOnAbort', [byStep], { before: 'not yet', after: 'aborted', reason: 'enough' }));
  }

  for (const [when, milliseconds] of [
    ['before the step', 0],
    ['in the middle of it', 500],
  ]) {
    row(`throwIfAborted, aborted ${when}: fatal, and no second attempt`, async () => {
      const runId = await app.begin('throwIfAbortedInStep', milliseconds);
      const { status, value } = await app.outcome(runId);
      assert.deepEqual([status, value.fatal], ['completed', true], JSON.stringify(value));
      const events = await checkEndedRun(api, runId);
      assert.deepEqual([count(events, 'step_failed'), count(events, 'step_retrying')], [1, 0]);
      assert.deepEqual(
        (await api.steps(runId)).map((s) => [s.status, s.attempt]),
        [['failed', 1]],
      );
    });
  }

  row('a fetch under way is cut off after two seconds', async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const runId = await app.begin('cancelledFetch', `http://127.0.0.1:${portOf(server)}/`, 2000);
    const { status, value } = await app.outcome(runId);
    server.close();
    assert.deepEqual([status, value.cut], ['completed', 'AbortError']);
    assert.ok(value.after >= 1900, `after ${value.after} ms`); // the step may begin a little after its sleep
    assert.equal(count(await checkEndedRun(api, runId), 'step_completed'), 1);
  });

  row('a fetch that nobody catches: cut off on the wire, the run fails, and no second attempt', async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    let requests = 0;
    const cutOff = new Promise((done) => server.on('request', (request) => requests++ === 0 && request.on('close', done)));
    const runId = await app.begin('abortedFetch', `http://127.0.0.1:${portOf(server)}/`, 500);
    await cutOff;
    const { status, error } = await app.outcome(runId);
    server.close();
    assert.deepEqual([status, error.name, error.code], ['failed', 'WorkflowRunFailedError', 'USER_ERROR']);
    assert.match(error.message, /abort/i);
    const events = await checkEndedRun(api, runId);
    assert.deepEqual([requests, count(events, 'step_failed'), count(events, 'step_retrying')], [1, 1, 0]);
  });

  row('a signal of another process that is aborted from the start', async () => {
    const outsider = await Outsider.start(t, service, 'v5', 'signalAsInput', [], 'gone before');
    await completed(outsider.runId, { workflow: true, step: { aborted: true, reason: 'gone before' } });
  });

  row('a signal of another process that is aborted while two steps have it', async () => {
    const outsider = await Outsider.start(t, service, 'v5', 'outsideSignal', ['outside']);
    await until('both to acknowledge', async () => count(await api.events(outsider.runId), 'hook_received') === 2);
    outsider.abort();
    await completed(outsider.runId, {
      acknowledged: ['polling', 'listening'],
      steps: ['aborted: from outside', 'aborted: from outside'],
    });
  });

  row('an abort channel, aborted by hand: its stream shows it to watchers from before and after', async () => {
    const runId = await app.begin('abortChannel', 'channel/hand', 60_000);
    const early = app.values(runId);
    await until('the hook', async () => (await api.hooks(runId)).length === 1);
    for (let i = 0; i < 2; i++) assert.equal((await app.hook('channel/hand')).runId, runId);
    await app.resume('channel/hand', { reason: 'by hand' });
    const message = { abort: true, reason: 'by hand', expired: false };
    await completed(runId, message);
    assert.deepEqual(await early, [message]);
    assert.deepEqual(await app.values(runId), [message], 'who comes back later sees the same');
  });

  row('an abort channel, aborted by its expiry', async () => {
    const runId = await app.begin('abortChannel', 'channel/expiry', 1000);
    const message = { abort: true, reason: 'expired', expired: true };
    assert.deepEqual(await app.values(runId), [message]);
    await completed(runId, message);
    await assert.rejects(app.hook('channel/expiry'), { name: 'HookNotFoundError' });
  });

  await Promise.all(rows);
});
