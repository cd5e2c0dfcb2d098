// @ts-check
// What most rows of a test check: that a run ends as expected, with a clean log.
import assert from 'node:assert/strict';
import { checkEndedRun } from './invariants.mjs';

/** `patience` is how long a run may take, in milliseconds. */
export function rowsOn({ app, api }, patience = 60_000) {
  /**
   * Lets a run complete with `expected`; returns its id, its row and its events.
   *
   * @returns {Promise<any>}
   */
  const completes = async (workflow, args, expected) => completed(await app.begin(workflow, ...args), expected);

  /** The same for a run that was started. */
  const completed = async (runId, expected) => {
    assert.deepEqual(await app.outcome(runId, patience), { status: 'completed', value: expected });
    return { runId, run: await api.run(runId), events: await checkEndedRun(api, runId) };
  };

  /** Lets a run complete and returns its value, which the caller checks. */
  const value = async (workflow, ...args) => {
    const runId = await app.begin(workflow, ...args);
    const outcome = await app.outcome(runId, patience);
    assert.equal(outcome.status, 'completed', JSON.stringify(outcome));
    return { runId, run: await api.run(runId), value: outcome.value, events: await checkEndedRun(api, runId) };
  };

  /** Lets a run fail with the given error code. */
  const fails = async (workflow, args, code) => {
    const runId = await app.begin(workflow, ...args);
    const { status, error } = await app.outcome(runId, patience);
    assert.deepEqual([status, error?.name, error?.code], ['failed', 'WorkflowRunFailedError', code]);
    return { runId, run: await api.run(runId), error, events: await checkEndedRun(api, runId) };
  };

  /** The names, states and attempts of a run's steps, in order of creation. */
  const stepsOf = async (runId) => (await api.steps(runId)).map((s) => [s.stepName.split('//').at(-1), s.status, s.attempt]).reverse();

  return { completes, completed, value, fails, stepsOf };
}

export const typesOf = (events) => events.map((e) => e.eventType);

/** The text of a payload as the SDK wrote it; the service keeps its bytes unchanged. */
export const textOf = ({ __type, data }) => {
  assert.equal(__type, 'Uint8Array');
  return Buffer.from(data, 'base64').toString('utf8');
};
