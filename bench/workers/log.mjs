// @ts-check
// A run with a long log, written through events.create with three events per step, one call after the other, and then
// read completely.
import { bytes, create, openWorld, report, runId, settings, stepId } from './world.mjs';

const world = openWorld();
const payload = bytes(300);
const run = runId();
const costs = []; // of the nth event
const lists = {}; // by length of the log

async function append(event) {
  const began = performance.now();
  await create(world, run, event);
  costs.push(performance.now() - began);
}

async function readWhole() {
  const began = performance.now();
  let count = 0;
  let cursor;
  do {
    const page = await world.events.list({ runId: run, pagination: { sortOrder: 'asc', limit: 1000, cursor } });
    count += page.data.length;
    cursor = page.hasMore ? page.cursor : undefined;
  } while (cursor);
  return { ms: performance.now() - began, count };
}

await append({ eventType: 'run_created', eventData: { deploymentId: 'bench', workflowName: 'workflow//./w//log', input: payload, executionContext: {} } });
await append({ eventType: 'run_started' });
for (const length of settings.lengths) {
  while (costs.length < length) {
    const step = stepId();
    await append({ eventType: 'step_created', correlationId: step, eventData: { stepName: 'step//./w//add', input: payload } });
    await append({ eventType: 'step_started', correlationId: step });
    await append({ eventType: 'step_completed', correlationId: step, eventData: { result: payload } });
  }
  await readWhole(); // the first read may fill caches
  const { ms, count } = await readWhole();
  if (count !== costs.length) throw new Error(`the log has ${count} events, ${costs.length} were written`);
  lists[length] = ms;
}
report({ costs, lists });
