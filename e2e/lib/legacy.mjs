// @ts-check
// What must hold for an ended run of the SDK from before event sourcing (spec 1): its log has only events of steps,
// hooks and waits, and the state of the run and of its steps is stored separately (contract §9).
import assert from 'node:assert/strict';

/** Reads the run from the service and checks it; returns its events. */
export async function checkEndedLegacyRun(api, runId) {
  const [run, events, steps, hooks] = await Promise.all([api.run(runId), api.events(runId), api.steps(runId), api.hooks(runId)]);
  const story = `${runId}: ${events.map((e) => `${e.eventType} ${e.correlationId}`).join(', ')}`;

  assert.equal(run.specVersion, undefined, runId);
  assert.ok(['completed', 'failed', 'cancelled'].includes(run.status), `${runId} is ${run.status}`);
  assert.equal(typeof run.completedAt, 'number', `${runId} has an end`);
  assert.deepEqual(hooks, [], `${runId} still holds hooks`);

  for (const [i, event] of events.entries()) {
    if (i === 0) continue;
    assert.ok(events[i - 1].eventId < event.eventId, `event ids out of order at ${i}: ${story}`);
    assert.ok(events[i - 1].createdAt <= event.createdAt, `time goes back at ${i}: ${story}`);
  }

  for (const step of steps) {
    const of = (type) => events.filter((e) => e.correlationId === step.stepId && e.eventType === type).length;
    assert.equal(of('step_started'), step.attempt, `attempts of ${step.stepId}: ${story}`);
    if (run.status === 'completed') assert.equal(of('step_completed'), step.status === 'completed' ? 1 : 0, story);
  }
  return events;
}
