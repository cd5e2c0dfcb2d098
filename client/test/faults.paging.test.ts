/** BR-35, cursor and page edge cases: the pages of every list are the list, through the client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import type { Pagination } from '../build/types.js';
import { eventOf } from './helpers/events.js';
import { newHookId, newRunId, newStepId } from './helpers/ids.js';
import { checkPages, LENGTHS, type List, walk } from './helpers/pages.js';
import { Real } from './helpers/real.js';
import { refused } from './helpers/refused.js';
import { type Spec, sdkOf } from './helpers/sdk.js';

const worlds = {} as Record<Spec, RedisWorld>;
const real = Real.forThisFile({
  prepare: async (started) => {
    for (const spec of [3, 7] as const) worlds[spec] = await started.world(spec);
  },
});

/** Does `count` calls, some at a time, in any order. */
async function many(count: number, call: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** Adds steps to a run, many in one call; their ids in order. */
async function addSteps(world: RedisWorld, spec: Spec, runId: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newStepId);
  for (let at = 0; at < count; at += 250) {
    const events = ids.slice(at, at + 250).map((id) => ({ event: eventOf('step_created', spec, { id }) }));
    await world.events.createBatch(runId, events as any[]);
  }
  return ids;
}

for (const spec of [3, 7] as const) {
  test(`BR-35: a log of 0 to 5,000 events and its steps, ${sdkOf(spec)} spec ${spec}`, async () => {
    const world = worlds[spec];
    const runId = newRunId();
    const events: List = (pagination) => world.events.list({ runId, pagination, resolveData: 'none' });
    const steps: List = (pagination) => world.steps.list({ runId, pagination, resolveData: 'none' });
    const log: string[] = [];
    const made: string[] = [];
    for (const length of [...LENGTHS, 5000]) {
      if (length === 1) await world.events.create(runId, eventOf('run_created', spec, { id: '' }));
      if (length > 1) made.push(...(await addSteps(world, spec, runId, length - 1 - made.length)));
      const { data } = await world.events.list({ runId, resolveData: 'none' });
      assert.equal(data.length, length);
      assert.deepEqual(
        data.slice(1).map(({ correlationId }) => correlationId),
        made,
      );
      log.splice(0, log.length, ...data.map(({ eventId }) => eventId as string));
      await checkPages(events, 'eventId', log, 'asc');
      if (spec === 3 || length === 5000) continue; // the same list for all
      // Steps of one millisecond are in the order of their ids.
      const { ids } = await walk(steps, 'stepId', { limit: 1000, sortOrder: 'asc' });
      assert.deepEqual([...ids].sort(), [...made].sort());
      await checkPages(steps, 'stepId', ids, 'desc', 20);
    }
  });
}

test('BR-35: the events of one entity, 0 to 1,001', async () => {
  const world = worlds[7];
  const [id, runId] = [newStepId(), await real.run(worlds[7], 7)];
  await addSteps(world, 7, runId, 50); // others in between
  const list: List = (pagination) => world.events.listByCorrelationId({ correlationId: id, runId, pagination, resolveData: 'none' });
  let length = 0;
  for (const next of LENGTHS) {
    if (length === 0 && next > 0) await world.events.create(runId, eventOf('step_created', 7, { id }));
    await many(next - Math.max(length, 1), () => world.events.create(runId, eventOf('step_started', 7, { id }), { resolveData: 'none' }));
    length = next;
    const { data } = await world.events.list({ runId, resolveData: 'none' });
    const own = data.filter(({ correlationId }) => correlationId === id).map(({ eventId }) => eventId as string);
    assert.equal(own.length, length);
    await checkPages(list, 'eventId', own, 'asc', 100);
    // Without the run, as v4 may ask.
    const anywhere: List = (pagination) => world.events.listByCorrelationId({ correlationId: id, pagination } as any);
    if (length <= 101) await checkPages(anywhere, 'eventId', own, 'asc', 100);
  }
});

test('BR-35: runs by name, 0 to 1,001', async () => {
  const world = worlds[7];
  const workflowName = `workflow//./a.ts//${newRunId()}`;
  const list: List = (pagination) => world.runs.list({ workflowName, status: ['pending', 'running'], pagination, resolveData: 'none' });
  const made = new Set<string>();
  for (const length of LENGTHS) {
    await many(length - made.size, async () => {
      const event = eventOf('run_created', 7, { id: '' });
      const { run } = await world.events.create(newRunId(), { ...event, eventData: { ...event.eventData, workflowName } });
      made.add(run.runId);
    });
    const { ids } = await walk(list, 'runId', { limit: 1000, sortOrder: 'asc' });
    assert.deepEqual([...ids].sort(), [...made].sort());
    await checkPages(list, 'runId', ids, 'desc', 20);
  }
});

test('BR-35: hooks of a run, 0 to 1,001; a page may begin behind a hook that is gone by then', async () => {
  const world = worlds[7];
  const runId = await real.run(world, 7);
  const list: List = (pagination) => world.hooks.list({ runId, pagination, resolveData: 'none' });
  const made = new Set<string>();
  for (const length of LENGTHS) {
    await many(length - made.size, async () => {
      const id = newHookId();
      await world.events.create(runId, eventOf('hook_created', 7, { id, token: id }));
      made.add(id);
    });
    const { ids } = await walk(list, 'hookId', { limit: 1000, sortOrder: 'asc' });
    assert.deepEqual([...ids].sort(), [...made].sort());
    await checkPages(list, 'hookId', ids, 'asc', 100);
  }
  const { ids } = await walk(list, 'hookId', {});
  const { cursor } = await list({ limit: 10 });
  await world.events.create(runId, eventOf('hook_disposed', 7, { id: ids[9] as string }));
  const rest = await walk((pagination) => list({ cursor: String(cursor), ...pagination }), 'hookId', {});
  assert.deepEqual(rest.ids, ids.slice(10));
});

test('BR-35: events that are appended during a read are at its end, or missing when reading backwards', async () => {
  for (const spec of [3, 7] as const) {
    const world = worlds[spec];
    const runId = await real.run(world, spec);
    await addSteps(world, spec, runId, 499);
    const list: List = (pagination) => world.events.list({ runId, pagination, resolveData: 'none' });
    const now = async () => (await list({})).data.map(({ eventId }) => eventId as string);
    const before = await now();
    const backwards = await walk(list, 'eventId', { limit: 100, sortOrder: 'desc' }, async () => void (await addSteps(world, spec, runId, 50)));
    assert.deepEqual(backwards.ids, before.reverse());
    let times = 0;
    const forwards = await walk(list, 'eventId', { limit: 100 }, async () => void (times++ < 10 && (await addSteps(world, spec, runId, 50))));
    assert.deepEqual(forwards.ids, await now());
    assert.equal(forwards.ids.length, 501 + 5 * 50 + 10 * 50);
  }
});

test('BR-35: an idle poll keeps its cursor, which shows what comes later', async () => {
  const world = worlds[7];
  const id = newStepId();
  const runId = await real.run(world, 7, id, 'step_created');
  const lists: Record<string, List> = {
    events: (pagination) => world.events.list({ runId, pagination }),
    related: (pagination) => world.events.listByCorrelationId({ correlationId: id, runId, pagination }),
  };
  for (const [name, list] of Object.entries(lists)) {
    const { cursor } = await list({});
    for (let n = 0; n < 3; n++) {
      const idle = await list({ cursor: String(cursor) });
      assert.deepEqual([idle.data, idle.hasMore], [[], false], name);
      assert.ok(idle.cursor === null || idle.cursor === cursor, name);
    }
    await world.events.create(runId, eventOf('step_started', 7, { id }));
    const later = await list({ cursor: String(cursor) });
    assert.deepEqual(
      later.data.map(({ eventType }) => eventType),
      ['step_started'],
      name,
    );
  }
});

test('BR-35: garbage, cut and foreign cursors and impossible limits are 400, in every list', async () => {
  const world = worlds[7];
  const [id, hook] = [newStepId(), newHookId()];
  const [one, two] = [await real.run(world, 7, id, 'step_created'), await real.run(world, 7, id, 'step_created')];
  for (const runId of [one, two]) await world.events.create(runId, eventOf('hook_created', 7, { id: `${hook}_${runId}`, token: runId }));
  const lists: Record<string, List> = {
    runs: (pagination) => world.runs.list({ pagination }),
    hooks: (pagination) => world.hooks.list({ pagination }),
  };
  for (const runId of [one, two]) {
    lists[`events of ${runId}`] = (pagination) => world.events.list({ runId, pagination });
    lists[`related of ${runId}`] = (pagination) => world.events.listByCorrelationId({ correlationId: id, runId, pagination });
    lists[`steps of ${runId}`] = (pagination) => world.steps.list({ runId, pagination });
    lists[`hooks of ${runId}`] = (pagination) => world.hooks.list({ runId, pagination });
  }
  const cursors: Record<string, string> = { garbage: 'garbage!', text: 'abc', 'an id': one, 'a number': '1' };
  for (const [name, list] of Object.entries(lists)) {
    cursors[name] = String((await list({ limit: 1 })).cursor);
    cursors[`cut, ${name}`] = String(cursors[name]).slice(0, -2);
  }
  const badRequest = { name: 'WorkflowWorldError', status: 400, code: 'invalid' };
  for (const [name, list] of Object.entries(lists)) {
    for (const [of, cursor] of Object.entries(cursors)) {
      if (of === name) await list({ cursor });
      else await refused(list({ cursor }), badRequest).catch((error: Error) => assert.fail(`${name} with a cursor of ${of}: ${error.message}`));
    }
    for (const limit of [0, -1, 1.5, Number.NaN, '10x'] as Pagination['limit'][]) await refused(list({ limit } as Pagination), badRequest);
    await refused(list({ sortOrder: 'up' as 'asc' }), badRequest);
  }
});
