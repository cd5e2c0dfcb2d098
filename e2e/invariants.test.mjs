// @ts-check
// Tests of the checks in lib/invariants.mjs: a good log passes, and each kind of wrong log is found.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';

const goodLog = [
  ['run_created'],
  ['run_started'],
  ['step_created', 's1'],
  ['step_started', 's1'],
  ['step_retrying', 's1'],
  ['step_started', 's1'],
  ['step_completed', 's1'],
  ['wait_created', 'w1'],
  ['wait_completed', 'w1'],
  ['run_completed'],
];

/**
 * A service that answers with this log; `change` may spoil any part of the answer.
 *
 * @param {(answer: any) => void} [change]
 */
function serviceWith(log, change = () => {}) {
  const answer = {
    run: { status: 'completed', completedAt: log.length },
    events: log.map(([eventType, correlationId], i) => ({ eventId: `wevt_${String(i).padStart(3, '0')}`, createdAt: i, eventType, correlationId })),
    steps: [{ stepId: 's1', status: 'completed', attempt: 2 }],
    hooks: [],
  };
  change(answer);
  return Object.fromEntries(Object.entries(answer).map(([part, value]) => [part, async () => value]));
}

const without = (type) => goodLog.filter(([eventType]) => eventType !== type);
const twice = (type) => goodLog.flatMap((entry) => (entry[0] === type ? [entry, entry] : [entry]));

test('a good log passes', async () => {
  assert.equal((await checkEndedRun(serviceWith(goodLog), 'run')).length, goodLog.length);
});

for (const [what, service] of Object.entries({
  'no beginning': serviceWith(without('run_created')),
  'two beginnings': serviceWith(twice('run_created')),
  'no end': serviceWith(without('run_completed')),
  'two ends': serviceWith(twice('run_completed')),
  'something after the end': serviceWith([...goodLog, ['step_started', 's1']]),
  "an end that is not the run's": serviceWith(goodLog, ({ run }) => (run.status = 'failed')),
  'a step created twice': serviceWith(twice('step_created')),
  'a step completed twice': serviceWith(twice('step_completed')),
  'a step in the log only': serviceWith(goodLog, ({ steps }) => steps.pop()),
  'an attempt that was not logged': serviceWith(goodLog, ({ steps }) => steps[0].attempt++),
  'a wait completed twice': serviceWith(twice('wait_completed')),
  'a wait completed out of nowhere': serviceWith(without('wait_created')),
  'a hook left over': serviceWith(goodLog, ({ hooks }) => hooks.push({ hookId: 'h1' })),
  'an event id twice': serviceWith(goodLog, ({ events }) => (events[3].eventId = events[2].eventId)),
  'events out of order': serviceWith(goodLog, ({ events }) => events.splice(3, 2, events[4], events[3])),
  'time that goes back': serviceWith(goodLog, ({ events }) => (events[4].createdAt = 0)),
})) {
  test(`found: ${what}`, () => assert.rejects(checkEndedRun(service, 'run'), assert.AssertionError));
}
