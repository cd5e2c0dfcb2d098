// Whatever is cut off in the middle goes on by itself once it is back: the app, the service, Redis.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

/** A file to which a step writes "begin" and "end". */
async function journalFor(t) {
  const folder = await mkdtemp(join(tmpdir(), 'world-redis-e2e-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'journal');
  return { path, lines: async () => (await readFile(path, 'utf8')).trim().split('\n') };
}

/** Starts `count` runs of the workflow that has something of everything. */
async function startBusyRuns(app, count, rounds) {
  return Promise.all(Array.from({ length: count }, () => app.begin('busy', rounds)));
}

async function checkBusyRuns({ app, api, redis }, runIds, rounds) {
  for (const runId of runIds) {
    assert.deepEqual(await app.outcome(runId, 60_000), { status: 'completed', value: rounds * 120 }, runId);
    await checkEndedRun(api, runId);
  }
  await checkQueueEmpty(redis);
}

const anyStepDone = (api, runIds) => async () => {
  const events = await Promise.all(runIds.map((runId) => api.events(runId)));
  return events.flat().some((e) => e.eventType === 'step_completed');
};

test('the app is killed in the middle of a step: the step is run again and the run completes', async (t) => {
  const { app, api, redis } = await startStack(t);
  const journal = await journalFor(t);
  const runId = await app.begin('slow', 1500, journal.path);
  await until('the step to begin', async () => (await journal.lines()).length === 1);

  await app.kill();
  await app.start();

  const { status, value } = await app.outcome(runId);
  assert.equal(status, 'completed');
  assert.equal(value.text, 'done!');
  assert.deepEqual(await journal.lines(), ['begin', 'begin', 'end'], 'cut off once, done once');
  const events = await checkEndedRun(api, runId);
  assert.equal(events.filter((e) => e.eventType === 'step_completed').length, 2);
  await checkQueueEmpty(redis);
});

test('the app is away while a run sleeps: it is woken when the app is back', async (t) => {
  const { app, api, redis } = await startStack(t);
  const runId = await app.begin('naps', 2000);
  await until('the timer', async () => (await api.events(runId)).some((e) => e.eventType === 'wait_created'));

  await app.kill();
  await delay(2500); // the timer fires into the void
  await app.start();

  assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 'awake' });
  await checkEndedRun(api, runId);
  await checkQueueEmpty(redis);
});

test('the service is stopped under load and started again: every run completes', async (t) => {
  const stack = await startStack(t);
  const runIds = await startBusyRuns(stack.app, 10, 8);
  await until('work to be under way', anyStepDone(stack.api, runIds));

  assert.equal(await stack.service.stop(), 0, 'the service stops in good order');
  await stack.service.start();

  await checkBusyRuns(stack, runIds, 8);
});

test('the service is killed under load and started again: every run completes', async (t) => {
  const stack = await startStack(t);
  const runIds = await startBusyRuns(stack.app, 10, 8);
  await until('work to be under way', anyStepDone(stack.api, runIds));

  await stack.service.kill();
  await stack.service.start();

  await checkBusyRuns(stack, runIds, 8);
});

test('Redis is away for five seconds under load: everything goes on by itself', async (t) => {
  const stack = await startStack(t);
  const runIds = await startBusyRuns(stack.app, 10, 8);
  await until('work to be under way', anyStepDone(stack.api, runIds));

  await stack.redis.pause();
  const refused = await stack.api.request(`/v1/runs/${runIds[0]}`);
  assert.equal(refused.status, 503, 'without Redis the service says so');
  assert.equal(refused.body.error.code, 'unavailable');
  await delay(5000);
  await stack.redis.resume();

  await checkBusyRuns(stack, runIds, 8);
});
