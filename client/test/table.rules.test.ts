/** The rules of contract §3 that are not states of an entity: ids, resumes, spec versions, legacy runs, batches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { legacyCalls } from './helpers/client.js';
import { eventOf } from './helpers/events.js';
import { newHookId, newRunId, newStepId, newWaitId } from './helpers/ids.js';
import { Real, typesOf } from './helpers/real.js';
import { refused } from './helpers/refused.js';
import { SPECS, sdkOf } from './helpers/sdk.js';

const real = Real.forThisFile();

const badRequest = { name: 'WorkflowWorldError', status: 400 };

for (const spec of SPECS) {
  test(`§3.1 the run id of run_created, ${sdkOf(spec)} spec ${spec}: minted without one, 24 h old to 5 min ahead with one`, async () => {
    const world = await real.world(spec);
    const create = (runId: string | null) => world.events.create(runId, eventOf('run_created', spec, { id: '' }));
    const { run } = await create(null);
    assert.match(run.runId, /^wrun_[0-9A-HJKMNP-TV-Z]{26}$/);
    const minutes = (n: number) => `wrun_${ulidTime(Date.now() + n * 60_000)}${newRunId().slice(15)}`;
    for (const ok of [minutes(-24 * 60 + 1), minutes(0), minutes(4)]) assert.equal((await create(ok)).run.runId, ok);
    for (const bad of [minutes(-24 * 60 - 1), minutes(6), 'wrun_1', 'run', 'wrun_../x']) await refused(create(bad), badRequest);
    // A resilient start is not held to it: the message may have lain in the queue for long.
    const late = minutes(-48 * 60);
    const started = await world.events.create(late, eventOf('run_started with input', spec, { id: '' }));
    assert.equal(started.run.status, 'running');
    await refused(world.events.create(null, eventOf('run_started', spec, { id: '' })), badRequest);
    await refused(world.events.create('', eventOf('run_completed', spec, { id: '' })), badRequest);
  });
}

for (const spec of [6, 7] as const) {
  test(`§3.6 a resume id identifies one event of the run, spec ${spec}`, async () => {
    const world = await real.world(spec);
    const [hook, other] = [newHookId(), newHookId()];
    const runId = await real.run(world, spec, hook, 'hook_created');
    await world.events.create(runId, eventOf('hook_created', spec, { id: other, token: `token of ${other}` }));
    const resume = (id: string, resumeId: string, resumePayloadDigest?: string) =>
      world.events.create(runId, eventOf('hook_received', spec, { id, token: `token of ${id}` }), { resumeId, resumePayloadDigest });

    const first = await resume(hook, 'res_1', 'digest');
    assert.equal(first.event.resumeId, 'res_1');
    const events = { 0: undefined, 1: 'hook_disposed', 2: 'run_completed' };
    for (const between of Object.values(events)) {
      if (between) await world.events.create(runId, eventOf(between, spec, { id: hook, token: `token of ${hook}` }));
      const before = await typesOf(world, runId);
      for (const digest of ['digest', undefined]) assert.deepEqual((await resume(hook, 'res_1', digest)).event, first.event);
      await refused(resume(hook, 'res_1', 'another digest'), { name: 'EntityConflictError' });
      await refused(resume(other, 'res_1', 'digest'), { name: 'EntityConflictError' });
      assert.deepEqual(await typesOf(world, runId), before);
    }
    await refused(resume(hook, 'res_2'), { name: 'HookNotFoundError', token: hook });
    const stored = await world.events.get(runId, first.event.eventId);
    assert.deepEqual(stored, first.event);
  });
}

test('§3.1 a run of a newer SDK than the World knows is RunNotSupportedError for every event', async () => {
  const world = await real.world(7);
  const runId = newRunId();
  const future = { ...eventOf('run_created', 7, { id: '' }), specVersion: 8 };
  await world.events.create(runId, future);
  for (const kind of ['run_started', 'run_completed', 'run_cancelled', 'step_created', 'hook_created', 'wait_created', 'attr_set']) {
    const call = world.events.create(runId, eventOf(kind, 7, { id: newStepId(), token: 't' }));
    await refused(call, { name: 'RunNotSupportedError', runSpecVersion: 8, worldSpecVersion: 7 });
  }
  assert.deepEqual(await typesOf(world, runId), ['run_created']);
});

test('§3.10 events on a run from before event sourcing: it is cancelled without an event, two are appended, the rest refused', async () => {
  const world = await real.world(7);
  const legacy = legacyCalls(real.service.url);
  const run = await legacy.runs.create({ deploymentId: 'd', workflowName: 'w', input: [1] });
  const hook = newHookId();
  await legacy.hooks.create(run.runId, { hookId: hook, token: `token of ${hook}` });
  const send = (kind: string, id: string) => world.events.create(run.runId, eventOf(kind, 7, { id, token: `token of ${id}` }));
  assert.equal((await send('wait_completed', newWaitId())).event.eventType, 'wait_completed');
  assert.equal((await send('hook_received', hook)).event.eventType, 'hook_received');
  const refusals = ['run_created', 'run_started', 'run_completed', 'run_failed', 'step_created', 'step_started', 'hook_disposed', 'wait_created'];
  for (const kind of refusals.slice(1)) await refused(send(kind, newStepId()), { ...badRequest, message: /not supported for legacy runs/ });
  await refused(send('run_created', ''), { name: 'EntityConflictError' });
  assert.deepEqual(await typesOf(world, run.runId), ['wait_completed', 'hook_received']);
  const cancelled = await send('run_cancelled', '');
  assert.deepEqual([cancelled.event, cancelled.run.status], [undefined, 'cancelled']);
  await refused(world.hooks.getByToken(`token of ${hook}`), { name: 'HookNotFoundError' });
  await refused(send('hook_received', hook), { name: 'RunExpiredError' });
  assert.deepEqual(await typesOf(world, run.runId), ['wait_completed', 'hook_received']);
});

test('§3.7 stateUpdatedAt is ignored: no 412, whatever it says', async () => {
  const world = await real.world(3);
  const runId = await real.run(world, 3, newHookId(), 'hook_created', 'hook_received');
  const { step } = await world.events.create(runId, eventOf('step_created', 3, { id: newStepId() }), { stateUpdatedAt: 0 });
  assert.equal(step.status, 'pending');
});

test('§3.8 sinceCursor returns all events after it, including the own one; eventCount those in between', async () => {
  const world = await real.world(7);
  const [step, lazy, hook, wait] = [newStepId(), newStepId(), newHookId(), newWaitId()];
  const runId = await real.run(world, 7);
  const calls: [kind: string, id: string][] = [
    ['step_created', step],
    ['step_started', step],
    ['step_retrying', step],
    ['step_completed', step],
    ['step_started with input', lazy],
    ['step_failed', lazy],
    ['hook_created', hook],
    ['hook_created', newHookId()], // for the same token: a conflict
    ['hook_received', hook],
    ['hook_disposed', hook],
    ['wait_created', wait],
    ['wait_completed', wait],
    ['attr_set', newStepId()],
    ['run_completed', ''],
  ];
  for (const [kind, id] of calls) {
    const known = await world.events.list({ runId });
    await world.events.create(runId, eventOf('attr_set by a step', 7, { id: step })); // by somebody else
    const result = await world.events.create(runId, eventOf(kind, 7, { id, token: runId }), { sinceCursor: known.cursor });
    const after = await world.events.list({ runId, pagination: { cursor: String(known.cursor) } });
    assert.deepEqual([result.events, result.cursor, result.hasMore], [after.data, after.cursor, false], kind);
    assert.deepEqual(result.events.at(-1), result.event, kind);
  }
  const counted = await real.run(world, 7);
  for (let n = 0; n < 2; n++) await world.events.create(counted, eventOf('step_created', 7, { id: newStepId() }));
  const behind = await world.events.create(counted, eventOf('step_created', 7, { id: newStepId() }), { eventCount: 2 });
  const { data } = await world.events.list({ runId: counted });
  assert.deepEqual([behind.events, behind.cursor, behind.hasMore], [data.slice(2, 4), null, false]);
  const current = await world.events.create(counted, eventOf('step_created', 7, { id: newStepId() }), { eventCount: 5 });
  assert.equal(current.events, undefined);
  const ahead = await world.events.create(counted, eventOf('step_created', 7, { id: newStepId() }), { eventCount: 50 });
  assert.equal(ahead.event.eventId, `evnt_${'7'.padStart(26, '0')}`);
});

test('§3.9 a batch with an event that it must not contain is refused as a whole, and nothing of it is stored', async () => {
  const world = await real.world(7);
  const [a, b] = [newStepId(), newStepId()];
  const runId = await real.run(world, 7);
  const item = (kind: string, id: string) => ({ event: eventOf(kind, 7, { id, token: `token of ${id}` }) });
  const banned = ['run_created', 'run_started', 'run_cancelled', 'hook_created', 'hook_disposed', 'hook_received', 'attr_set', 'noop'];
  for (const kind of banned) await refused(batch(world, runId, [item('step_created', a), item(kind, b)]), badRequest);
  await refused(batch(world, runId, []), badRequest);
  await refused(batch(world, runId, [item('step_completed', a), item('step_failed', a)]), badRequest);
  await refused(batch(world, runId, [item('step_created', a), item('step_started with input', a)]), badRequest);
  assert.deepEqual(await typesOf(world, runId), ['run_created', 'run_started']);
  const born = [item('step_created', a), item('step_started', a)];
  const { results } = await batch(world, runId, [...born, item('step_created', b), item('step_completed', newStepId())]);
  assert.deepEqual(
    results.map(({ status, step }: any) => [status, step?.attempt]),
    [
      [200, 0],
      [200, 1],
      [200, 0],
      [404, undefined],
    ],
  );
  assert.deepEqual((await typesOf(world, runId)).slice(2), ['step_created', 'step_started', 'step_created']);
});

const batch = (world: RedisWorld, runId: string, items: any[]) => world.events.createBatch(runId, items);

/** The time of a ULID: its first ten characters. */
function ulidTime(ms: number): string {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  let text = '';
  for (let time = ms; text.length < 10; time = Math.floor(time / 32)) text = alphabet[time % 32] + text;
  return text;
}
