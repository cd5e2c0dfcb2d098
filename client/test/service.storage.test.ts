/** Runs, steps, hooks and waits of the real service, as the SDK writes and reads them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { createWorld } from './helpers/client.js';
import { newHookId, newRunId, newStepId, newWaitId } from './helpers/ids.js';
import { Service } from './helpers/service.js';

let service: Service;
let world: RedisWorld;
before(async () => {
  service = await Service.start();
  world = createWorld({ url: service.url });
});
after(async () => {
  await world.close();
  await service.stop();
});

const payload = (text: string) => new Uint8Array(Buffer.from(`devl${text}`));

async function createRun(workflowName = 'workflow//./a.ts//order'): Promise<string> {
  const runId = newRunId();
  await world.events.create(
    runId,
    {
      eventType: 'run_created',
      specVersion: 3,
      eventData: {
        deploymentId: 'dpl_1',
        workflowName,
        input: payload('in'),
        executionContext: { workflowCoreVersion: '4.8.9', traceCarrier: {}, features: { encryption: false } },
      },
    },
    { v1Compat: false },
  );
  return runId;
}

const startRun = (runId: string) => world.events.create(runId, { eventType: 'run_started', specVersion: 3 });
const create = (runId: string, eventType: string, correlationId: string, eventData?: object, params?: object) =>
  world.events.create(runId, { eventType, correlationId, specVersion: 3, eventData }, params);

test('a run lives from created to completed, with its payloads, Dates and log', async () => {
  const runId = await createRun();
  const pending = await world.runs.get(runId);
  assert.equal(pending.status, 'pending');
  assert.deepEqual(pending.input, payload('in'));
  assert.equal(Object.getPrototypeOf(pending.input), Uint8Array.prototype);
  assert.ok(pending.createdAt instanceof Date);
  assert.deepEqual(pending.executionContext, {
    workflowCoreVersion: '4.8.9',
    traceCarrier: {},
    features: { encryption: false },
  });
  for (const absent of ['startedAt', 'completedAt', 'output', 'error']) assert.ok(!(absent in pending), absent);

  const started = await startRun(runId);
  assert.equal(started.run.status, 'running');
  assert.ok(started.run.startedAt instanceof Date);
  assert.deepEqual(
    started.events.map((event: { eventType: string }) => event.eventType),
    ['run_created', 'run_started'],
  );
  assert.equal(started.hasMore, false);
  const again = await startRun(runId);
  assert.equal(again.event, undefined);
  assert.deepEqual(again.run.startedAt, started.run.startedAt);

  const done = await world.events.create(runId, {
    eventType: 'run_completed',
    specVersion: 3,
    eventData: { output: payload('out') },
  });
  assert.equal(done.run.status, 'completed');
  const run = await world.runs.get(runId, { resolveData: 'all' });
  assert.deepEqual(run.output, payload('out'));
  assert.ok(run.completedAt instanceof Date);
  const bare = await world.runs.get(runId, { resolveData: 'none' });
  assert.ok(!('input' in bare) && !('output' in bare));

  const log = await world.events.list({ runId, pagination: { sortOrder: 'asc' } });
  assert.deepEqual(
    log.data.map((event) => event.eventType),
    ['run_created', 'run_started', 'run_completed'],
  );
  assert.deepEqual(log.data[0].eventData.input, payload('in'));
  for (const event of log.data) assert.ok(event.createdAt instanceof Date);
  const one = await world.events.get(runId, log.data[2].eventId);
  assert.deepEqual(one, log.data[2]);
});

test('each refusal has the name that the SDK looks for', async () => {
  await assert.rejects(world.runs.get(newRunId()), { name: 'WorkflowRunNotFoundError' });
  const missing = newRunId();
  await assert.rejects(startRun(missing), { name: 'WorkflowRunNotFoundError', runId: missing });
  await assert.rejects(world.hooks.get('hook_none'), { name: 'HookNotFoundError', token: 'hook_none' });
  await assert.rejects(world.hooks.getByToken('no such/token'), { name: 'HookNotFoundError', token: 'no such/token' });

  const runId = await createRun();
  await startRun(runId);
  const stepId = newStepId();
  await assert.rejects(create(runId, 'step_started', stepId), {
    name: 'WorkflowWorldError',
    status: 404,
    message: new RegExp(`Step "${stepId}" not found`),
  });
  await assert.rejects(world.steps.get(runId, stepId), { name: 'WorkflowWorldError', status: 404 });
  await create(runId, 'step_created', stepId, { stepName: 's', input: payload('a') });
  await assert.rejects(create(runId, 'step_created', stepId, { stepName: 's', input: payload('a') }), {
    name: 'EntityConflictError',
  });
  await create(runId, 'step_started', stepId);
  await create(runId, 'step_retrying', stepId, { error: 'later', retryAfter: new Date(Date.now() + 60_000) });
  await assert.rejects(create(runId, 'step_started', stepId), (error: Error & { retryAfter?: number }) => {
    assert.equal(error.name, 'TooEarlyError');
    assert.ok(error.retryAfter !== undefined && error.retryAfter >= 59 && error.retryAfter <= 60);
    return true;
  });
  await assert.rejects(world.events.list({ runId, pagination: { cursor: 'nonsense' } }), {
    name: 'WorkflowWorldError',
    status: 400,
  });
  await world.events.create(runId, { eventType: 'run_cancelled', specVersion: 3 });
  await assert.rejects(startRun(runId), { name: 'RunExpiredError' });
  await assert.rejects(world.events.create(runId, { eventType: 'run_completed', specVersion: 3, eventData: {} }), { name: 'EntityConflictError' });
});

test('a failed run of v4 keeps its error as an object', async () => {
  const runId = await createRun();
  await startRun(runId);
  await world.events.create(runId, {
    eventType: 'run_failed',
    specVersion: 3,
    eventData: { error: { message: 'no stock', stack: 'at order', cause: undefined }, errorCode: 'USER_ERROR' },
  });
  const run = await world.runs.get(runId);
  assert.equal(run.status, 'failed');
  assert.deepEqual(run.error, { message: 'no stock', stack: 'at order', code: 'USER_ERROR' });
});

test('a step returns its input when it is started, and counts its attempts', async () => {
  const runId = await createRun();
  await startRun(runId);
  const stepId = newStepId();
  await create(runId, 'step_created', stepId, { stepName: 'step//./a.ts//add', workflowName: 'w', input: payload('args') });
  const first = await create(runId, 'step_started', stepId, { stepName: 'step//./a.ts//add' });
  assert.equal(first.step.attempt, 1);
  assert.deepEqual(first.step.input, payload('args'));
  assert.ok(first.step.startedAt instanceof Date);
  await create(runId, 'step_retrying', stepId, { error: 'once more', stack: 'at add' });
  const second = await create(runId, 'step_started', stepId);
  assert.equal(second.step.attempt, 2);
  assert.deepEqual(second.step.startedAt, first.step.startedAt);
  await create(runId, 'step_completed', stepId, { result: payload('') });
  const step = await world.steps.get(undefined, stepId);
  assert.equal(step.status, 'completed');
  assert.deepEqual(step.output, payload(''));
  assert.deepEqual(await world.steps.get(runId, stepId), step);
  const { data } = await world.steps.list({ runId, resolveData: 'none' });
  assert.deepEqual(
    data.map(({ stepId: id, status, input }) => ({ id, status, input })),
    [{ id: stepId, status: 'completed', input: undefined }],
  );
  const events = await world.events.listByCorrelationId({ correlationId: stepId, runId });
  assert.deepEqual(
    events.data.map((event) => event.eventType),
    ['step_created', 'step_started', 'step_retrying', 'step_started', 'step_completed'],
  );
});

test('a hook is found by its token, for any token, and is gone when the run is over', async () => {
  const runId = await createRun();
  await startRun(runId);
  const hookId = newHookId();
  const token = `order/${runId}?a=b&c #1 ü 🎉`;
  const { hook } = await create(runId, 'hook_created', hookId, { token, metadata: payload('meta') });
  assert.equal(hook.hookId, hookId);
  const found = await world.hooks.getByToken(token);
  assert.equal(found.runId, runId);
  assert.deepEqual(found.metadata, payload('meta'));
  assert.ok(found.createdAt instanceof Date);
  assert.equal((await world.hooks.get(hookId)).token, token);
  assert.equal((await world.hooks.list({ runId })).data.length, 1);

  const other = await createRun();
  await startRun(other);
  const conflict = await create(other, 'hook_created', newHookId(), { token });
  assert.equal(conflict.event.eventType, 'hook_conflict');
  assert.equal(conflict.hook, undefined);

  const received = await create(runId, 'hook_received', hookId, { token, payload: payload('hi') });
  assert.deepEqual(received.event.eventData.payload, payload('hi'));
  await world.events.create(runId, { eventType: 'run_completed', specVersion: 3, eventData: {} });
  await assert.rejects(world.hooks.getByToken(token), { name: 'HookNotFoundError' });
});

test('a wait keeps its timestamp to the millisecond', async () => {
  const runId = await createRun();
  await startRun(runId);
  const waitId = newWaitId();
  const resumeAt = new Date(Date.now() + 30 * 24 * 3600 * 1000 + 7);
  const created = await create(runId, 'wait_created', waitId, { resumeAt });
  assert.deepEqual(created.event.eventData.resumeAt, resumeAt);
  assert.deepEqual(created.wait.resumeAt, resumeAt);
  await create(runId, 'wait_completed', waitId, { resumeAt });
  await assert.rejects(create(runId, 'wait_completed', waitId, { resumeAt }), { name: 'EntityConflictError' });
  const log = await world.events.list({ runId, resolveData: 'none' });
  assert.deepEqual(log.data[2].eventData, { resumeAt });
});

test('pages follow each other without gap or repeat, and the last cursor shows what comes later', async () => {
  const name = `workflow//./a.ts//paged-${newRunId()}`;
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await createRun(name));
  const seen: string[] = [];
  let cursor: string | undefined;
  for (let more = true; more; ) {
    const pagination = cursor === undefined ? { limit: 2 } : { limit: 2, cursor };
    const page = await world.runs.list({ workflowName: name, status: 'pending', pagination, resolveData: 'none' });
    seen.push(...page.data.map((run) => run.runId));
    cursor = page.cursor ?? undefined;
    more = page.hasMore;
  }
  // Ids of one millisecond are in no order of their making.
  assert.deepEqual(seen, ids.sort().reverse());
  assert.deepEqual((await world.runs.list({ workflowName: name, status: [] })).data, []);

  const runId = await createRun();
  const log = await world.events.list({ runId });
  assert.equal(log.hasMore, false);
  await startRun(runId);
  const later = await world.events.list({ runId, pagination: { cursor: String(log.cursor) } });
  assert.deepEqual(
    later.data.map((event) => event.eventType),
    ['run_started'],
  );
});

test('results belong to the caller: changing one does not change the next', async () => {
  const runId = await createRun();
  const first = await startRun(runId);
  first.events.length = 0;
  first.run.input.fill(0);
  const next = await startRun(runId);
  assert.deepEqual((await world.runs.get(runId)).input, payload('in'));
  assert.deepEqual(next.run.runId, runId);
});

test('a large payload goes both ways whole', async () => {
  const runId = newRunId();
  const input = new Uint8Array(5 * 1024 * 1024).map((_, i) => i % 251);
  await world.events.create(runId, {
    eventType: 'run_created',
    specVersion: 3,
    eventData: { deploymentId: 'd', workflowName: 'w', input },
  });
  const run = await world.runs.get(runId);
  assert.equal(Buffer.compare(run.input, input), 0);
});

test('without a run id the service mints one', async () => {
  const { run } = await world.events.create(null, {
    eventType: 'run_created',
    specVersion: 3,
    eventData: { deploymentId: 'd', workflowName: 'w', input: payload('x') },
  });
  assert.match(run.runId, /^wrun_[0-9A-HJKMNP-TV-Z]{26}$/);
});

test('a wrong token is refused with the reason', async () => {
  const guarded = await Service.start({ WORKFLOW_WORLD_TOKEN: 'old,new' });
  const asks = (token?: string) => createWorld({ url: guarded.url, ...(token && { token }) });
  try {
    await assert.rejects(asks().runs.list(), { name: 'WorkflowWorldError', status: 401, code: 'unauthorized' });
    await assert.rejects(asks('wrong').runs.list(), { status: 401 });
    assert.deepEqual((await asks('new').runs.list()).data, []);
  } finally {
    await asks().close();
    await guarded.stop();
  }
});
