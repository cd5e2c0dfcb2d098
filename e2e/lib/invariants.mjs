// @ts-check
// What must hold for every ended run, whatever happened to it.
import assert from 'node:assert/strict';
import { until } from './wait.mjs';

const terminalEvents = new Set(['run_completed', 'run_failed', 'run_cancelled']);
const terminalStatus = { run_completed: 'completed', run_failed: 'failed', run_cancelled: 'cancelled' };

/** Reads the run from the service and checks it; returns its events. */
export async function checkEndedRun(api, runId) {
  const [run, events, steps, hooks] = await Promise.all([api.run(runId), api.events(runId), api.steps(runId), api.hooks(runId)]);
  const story = events.map((e) => e.eventType).join(' ');
  const count = (type) => events.filter((e) => e.eventType === type).length;

  // The log is in order and without duplicates.
  assert.equal(new Set(events.map((e) => e.eventId)).size, events.length, `${runId}: an event twice: ${story}`);
  for (const [i, event] of events.entries()) {
    if (i === 0) continue;
    assert.ok(events[i - 1].eventId < event.eventId, `${runId}: event ids out of order at ${i}: ${story}`);
    assert.ok(events[i - 1].createdAt <= event.createdAt, `${runId}: time goes back at ${i}: ${story}`);
  }

  // One beginning, one end.
  assert.equal(events[0]?.eventType, 'run_created', `${runId}: ${story}`);
  assert.equal(count('run_created'), 1, `${runId}: ${story}`);
  assert.ok(count('run_started') <= 1, `${runId}: ${story}`);
  assert.equal(events.filter((e) => terminalEvents.has(e.eventType)).length, 1, `${runId}: ${story}`);
  const end = events.findIndex((e) => terminalEvents.has(e.eventType));
  assert.equal(terminalStatus[events[end].eventType], run.status, `${runId}: ${story}`);
  // A step that was running when its run failed or was cancelled may still complete; nothing else follows the end.
  const atWork = new Set(
    events
      .slice(0, end)
      .filter((e) => e.eventType === 'step_started')
      .map((e) => e.correlationId),
  );
  const done = (e) => e.eventType === 'step_completed' && atWork.has(e.correlationId);
  assert.ok(
    events.slice(end + 1).every((e) => run.status !== 'completed' && done(e)),
    `${runId}: events after its end: ${story}`,
  );
  assert.equal(typeof run.completedAt, 'number', `${runId} has an end`);

  // Nothing is left open.
  assert.deepEqual(hooks, [], `${runId} still holds hooks`);
  checkSteps(runId, events, steps, run.status);
  checkPairs(runId, events, 'wait_created', 'wait_completed');
  return events;
}

function checkSteps(runId, events, steps, runStatus) {
  const created = events.filter((e) => e.eventType === 'step_created').map((e) => e.correlationId);
  assert.equal(new Set(created).size, created.length, `${runId}: a step created twice`);
  assert.deepEqual(steps.map((s) => s.stepId).sort(), [...created].sort(), `${runId}: the steps are those of the log`);
  for (const step of steps) {
    const of = events.filter((e) => e.correlationId === step.stepId).map((e) => e.eventType);
    const story = `${runId} ${step.stepId}: ${of.join(' ')}`;
    assert.equal(of[0], 'step_created', story);
    assert.equal(of.filter((type) => type === 'step_started').length, step.attempt, `attempts of ${story}`);
    const ends = of.filter((type) => type === 'step_completed' || type === 'step_failed');
    assert.ok(ends.length <= 1, story);
    if (runStatus === 'completed' && ends.length === 1) {
      assert.equal(ends[0], step.status === 'completed' ? 'step_completed' : 'step_failed', story);
    }
  }
}

function checkPairs(runId, events, opening, closing) {
  const opened = events.filter((e) => e.eventType === opening).map((e) => e.correlationId);
  const closed = events.filter((e) => e.eventType === closing).map((e) => e.correlationId);
  assert.equal(new Set(opened).size, opened.length, `${runId}: ${opening} twice`);
  assert.equal(new Set(closed).size, closed.length, `${runId}: ${closing} twice`);
  for (const id of closed) assert.ok(opened.includes(id), `${runId}: ${closing} of ${id} without ${opening}`);
}

/** Waits until no message is queued, in delivery, delayed or dead, according to the service and to Redis itself. */
export async function checkQueueEmpty({ api, redis, timeout = 30_000 }) {
  await until(
    'the queue to be empty',
    async () => {
      const left = { ...(await depthsByService(api)), ...(redis && (await depthsByRedis(redis))) };
      assert.equal(Object.keys(left).length, redis ? 24 : 12, JSON.stringify(left));
      assert.deepEqual(
        Object.entries(left).filter(([, n]) => n !== 0),
        [],
      );
      return true;
    },
    { timeout },
  );
}

async function depthsByService(api) {
  const { text } = await api.request('/metrics');
  const samples = text.matchAll(/^world_redis_queue_messages\{queue="(\w+)",state="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, queue, state, n]) => [`${queue} ${state}`, Number(n)]));
}

async function depthsByRedis(redis) {
  const depths = {};
  for (const queue of ['workflow_flows', 'workflow_steps']) {
    const key = (name) => `asynq:{${queue}}:${name}`;
    for (const list of ['pending', 'active']) depths[key(list)] = await redis.command('LLEN', key(list));
    for (const set of ['scheduled', 'retry', 'archived', 'lease']) depths[key(set)] = await redis.command('ZCARD', key(set));
  }
  return depths;
}
