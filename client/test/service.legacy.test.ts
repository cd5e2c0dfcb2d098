/** The calls of SDKs from before event sourcing, on the real service. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { LegacyCalls, RedisWorld } from '../build/index.js';
import { createWorld } from './helpers/client.js';
import { newHookId, newRunId, newStepId, newWaitId } from './helpers/ids.js';
import { Service } from './helpers/service.js';

type LegacyWorld = RedisWorld & Pick<LegacyCalls, 'runs' | 'steps' | 'hooks'>;

let service: Service;
let world: LegacyWorld;
before(async () => {
  service = await Service.start();
  world = createWorld({ url: service.url }) as LegacyWorld;
  // As such an SDK does with the World that it made.
  Object.assign(globalThis, { [Symbol.for('@workflow/world//cache')]: world });
});
after(async () => {
  await world.close();
  await service.stop();
});

const newRun = () => world.runs.create({ deploymentId: 'd', workflowName: 'w', input: [1, { a: null }] });
const refused = (status: number) => ({ name: 'WorkflowAPIError', status });

test('a run: created, running, paused, resumed, completed', async () => {
  const run = await newRun();
  assert.match(run.runId, /^wrun_/);
  assert.deepEqual([run.status, run.input, run.createdAt instanceof Date], ['pending', [1, { a: null }], true]);
  const running = await world.runs.update(run.runId, { status: 'running' });
  assert.ok(running.startedAt instanceof Date);
  assert.equal((await world.runs.pause(run.runId)).status, 'paused');
  assert.equal((await world.runs.resume(run.runId)).status, 'running');
  await assert.rejects(world.runs.resume(run.runId), refused(404));
  const completed = await world.runs.update(run.runId, { status: 'completed', output: { sum: 3 } });
  assert.deepEqual([completed.output, completed.startedAt], [{ sum: 3 }, running.startedAt]);
  assert.ok((await world.runs.get(run.runId)).completedAt instanceof Date);
  await assert.rejects(world.runs.update(newRunId(), { status: 'running' }), refused(404));
});

test('a step: the caller counts its attempts', async () => {
  const { runId } = await newRun();
  const stepId = newStepId();
  assert.equal((await world.steps.create(runId, { stepId, stepName: 's', input: ['x'] })).status, 'pending');
  await assert.rejects(world.steps.create(runId, { stepId, stepName: 's', input: [] }), refused(409));
  const running = await world.steps.update(runId, stepId, { status: 'running', attempt: 1 });
  assert.deepEqual([running.attempt, running.startedAt instanceof Date], [1, true]);
  await world.steps.update(runId, stepId, { status: 'completed', output: ['y'] });
  const step = await world.steps.get(undefined, stepId);
  assert.deepEqual([step.status, step.attempt, step.input, step.output], ['completed', 1, ['x'], ['y']]);
});

test('an event is appended as it is and is itself the answer', async () => {
  const { runId } = await newRun();
  const [step, wait] = [newStepId(), newWaitId()];
  const started = await world.events.create(runId, { eventType: 'step_started', correlationId: step });
  assert.deepEqual([started.eventType, started.runId, started.correlationId], ['step_started', runId, step]);
  assert.ok(started.createdAt instanceof Date);
  const resumeAt = new Date(Date.now() + 1000);
  await world.events.create(runId, { eventType: 'wait_created', correlationId: wait, eventData: { resumeAt } });
  const { data } = await world.events.list({ runId });
  assert.deepEqual(
    data.map((event) => [event.eventType, event.eventData]),
    [
      ['step_started', undefined],
      ['wait_created', { resumeAt }],
    ],
  );
});

test('a hook: a token has one owner until it is disposed of', async () => {
  const { runId } = await newRun();
  const hookId = newHookId();
  await world.hooks.create(runId, { hookId, token: 'legacy token', metadata: { m: 1 } });
  await assert.rejects(world.hooks.create(runId, { hookId: newHookId(), token: 'legacy token' }), refused(409));
  assert.deepEqual((await world.hooks.getByToken('legacy token')).metadata, { m: 1 });
  assert.equal((await world.hooks.dispose(hookId)).hookId, hookId);
  await assert.rejects(world.hooks.dispose(hookId), refused(404));
});

test('an event without a spec version on a run of a later SDK is what it would be with one', async () => {
  const runId = newRunId();
  await world.events.create(runId, { eventType: 'run_created', eventData: { deploymentId: 'd', workflowName: 'w', input: [] } });
  const resumeAt = new Date();
  const { event, wait } = await world.events.create(runId, {
    eventType: 'wait_created',
    correlationId: newWaitId(),
    eventData: { resumeAt },
  });
  assert.deepEqual([event.eventType, wait.status], ['wait_created', 'waiting']);
  const missing = { eventType: 'wait_completed', correlationId: newWaitId() };
  await assert.rejects(world.events.create(runId, missing), { name: 'WorkflowWorldError' });
});
