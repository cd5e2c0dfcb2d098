// @ts-check
// The app goes down during some work; the run continues when the app is back.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

/** A step that lasts until its gate opens, and a journal of its begins and ends. */
async function gatedStep(t) {
  const folder = await mkdtemp(join(tmpdir(), 'world-redis-e2e-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [journal, gate] = [join(folder, 'journal'), join(folder, 'gate')];
  return {
    args: [journal, gate],
    open: () => writeFile(gate, ''),
    lines: async () => (await readFile(journal, 'utf8')).split('\n').filter(Boolean),
  };
}

for (const sdk of sdks) {
  test(`SDK ${sdk}: the app is killed in the middle of a step: the step is run again and the run completes`, async (t) => {
    const stack = await startStack(t, { sdk });
    const { app, api } = stack;
    const step = await gatedStep(t);
    const runId = await app.begin('gated', ...step.args);
    await until('the step to begin', async () => (await step.lines()).length === 1 && (await api.steps(runId))[0]?.attempt === 1);

    await app.kill();
    await step.open();
    await app.start();

    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: { attempt: 2, text: 'done!' } });
    assert.deepEqual(await step.lines(), ['begin', 'begin', 'end'], 'cut off once, done once');
    const events = await checkEndedRun(api, runId);
    assert.equal(events.filter((e) => e.eventType === 'step_completed').length, 2);
    await checkQueueEmpty(stack);
  });
}

for (const sdk of sdks) {
  test(`SDK ${sdk}: the app is away while a run sleeps: it is woken when the app is back`, async (t) => {
    const stack = await startStack(t, { sdk });
    const { app, api } = stack;
    const runId = await app.begin('naps', 2000);
    await until('the timer', async () => (await api.events(runId)).some((e) => e.eventType === 'wait_created'));

    await app.kill();
    await delay(2500); // the timer fires into the void
    await app.start();

    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 'awake' });
    await checkEndedRun(api, runId);
    await checkQueueEmpty(stack);
  });
}
