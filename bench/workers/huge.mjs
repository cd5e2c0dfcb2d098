// @ts-check
// Events of one size, each written through events.create and read back by a list that continues at its last position.
import { bytes, create, openWorld, report, runId, settings, stepId } from './world.mjs';

const { events, size, warm = 3 } = settings;
const world = openWorld();
const payload = bytes(size);
const run = runId();
const latencies = [];
let cursor;

async function readOn() {
  const page = await world.events.list({ runId: run, pagination: { sortOrder: 'asc', limit: 100, cursor } });
  cursor = page.cursor ?? cursor;
  return page.data.at(-1);
}

const workflowName = 'workflow//./workflows/bench//huge';
await create(world, run, { eventType: 'run_created', eventData: { deploymentId: 'bench', workflowName, input: bytes(1), executionContext: {} } });
await create(world, run, { eventType: 'run_started' });
await readOn();
for (let i = 0; i < warm + events; i++) {
  const correlationId = stepId();
  const began = performance.now();
  await create(world, run, { eventType: 'step_created', correlationId, eventData: { stepName: 'step//./workflows/bench//take', input: payload } });
  const last = await readOn();
  if (i >= warm) latencies.push(performance.now() - began);
  if (last.correlationId !== correlationId || last.eventData.input.byteLength !== size) throw new Error('not what was written');
}
report({ latencies });
