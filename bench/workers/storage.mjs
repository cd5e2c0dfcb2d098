// @ts-check
// Six events per run through the World's own events.create, as in a one-step workflow, by several callers.
import { bytes, create, openWorld, report, runId, settings, stepId } from './world.mjs';

const { runs, callers, size } = settings;
const world = openWorld();
const payload = bytes(size);
const latencies = [];

async function timed(run, event) {
  const began = performance.now();
  await create(world, run, event);
  latencies.push(performance.now() - began);
}

async function oneRun() {
  const run = runId();
  const step = stepId();
  const workflowName = 'workflow//./workflows/bench//storage';
  await timed(run, { eventType: 'run_created', eventData: { deploymentId: 'bench', workflowName, input: payload, executionContext: {} } });
  await timed(run, { eventType: 'run_started' });
  await timed(run, { eventType: 'step_created', correlationId: step, eventData: { stepName: 'step//./workflows/bench//add', input: payload } });
  await timed(run, { eventType: 'step_started', correlationId: step });
  await timed(run, { eventType: 'step_completed', correlationId: step, eventData: { result: payload } });
  await timed(run, { eventType: 'run_completed', eventData: { output: payload } });
}

async function share(count) {
  let left = count;
  const caller = async () => {
    while (left-- > 0) await oneRun();
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

if (settings.warm !== 0) await share(Math.max(5, callers));
latencies.length = 0;
const began = performance.now();
await share(runs);
report({ perSecond: (latencies.length / (performance.now() - began)) * 1000, latencies: latencies.length > 5_000 ? undefined : latencies });
