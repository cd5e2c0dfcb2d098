// @ts-check
// The measurements of the app; each gets the SDK and its settings. Times are in milliseconds.
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 5;
/** If no step came for this long, there are no more. */
const QUIET_MS = 20;
const PATIENCE_MS = 120_000;

export const measurements = { flood, naps, hooks, firstChunk, chunks, replay };

/** Runs `n` workflows, up to `conc` of them at a time: latency from start() to completed, and runs per second. */
async function flood(sdk, { workflow, args, n, conc }) {
  const latencies = [];
  let left = n;
  const caller = async () => {
    while (left-- > 0) {
      const began = performance.now();
      const { runId } = await sdk.start(sdk.workflows[workflow], args);
      await completed(sdk, runId);
      latencies.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: conc }, caller));
  return { latencies, perSecond: (n / (performance.now() - began)) * 1000 };
}

/**
 * How late sleeps end, according to the run's log: from the requested time to the event that ends the wait. `ms` is
 * whole seconds, because the SDK waits in whole seconds; a longer wait for that reason is not the World's fault.
 */
async function naps(sdk, { n, ms }) {
  const late = async () => {
    const { runId } = await sdk.start(sdk.workflows.nap, [ms]);
    await completed(sdk, runId);
    const events = await log(sdk, runId);
    const asked = events.find((e) => e.eventType === 'wait_created').eventData.resumeAt;
    return new Date(events.find((e) => e.eventType === 'wait_completed').createdAt).getTime() - new Date(asked).getTime();
  };
  return { latencies: await Promise.all(Array.from({ length: n }, late)) };
}

/** The time from resumeHook() until the waiting run has completed. */
async function hooks(sdk, { n }) {
  const latencies = [];
  for (let i = 0; i < n; i++) {
    const token = `bench-${Date.now()}-${i}`;
    const { runId } = await sdk.start(sdk.workflows.hooked, [token]);
    latencies.push(await resume(sdk, runId, token));
  }
  return { latencies };
}

/** Resumes a hook once its run waits for it. */
async function resume(sdk, runId, token) {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await sdk.world.hooks.getByToken(token).catch(() => undefined))) {
    if (performance.now() > deadline) throw new Error('the hook was not created in time');
    await delay(POLL_MS);
  }
  await delay(30); // until the delivery that created the hook is over
  const began = performance.now();
  await sdk.resumeHook(token, { value: 1 });
  await completed(sdk, runId);
  return performance.now() - began;
}

/** The time from start() to the first chunk at a reader that was connected from the beginning. */
async function firstChunk(sdk, { n }) {
  const latencies = [];
  for (let i = 0; i < n; i++) {
    const began = performance.now();
    const run = await sdk.start(sdk.workflows.streamer, [1, 100]);
    const reader = run.getReadable().getReader();
    await reader.read();
    latencies.push(performance.now() - began);
    await reader.cancel();
    await completed(sdk, run.runId);
  }
  return { latencies };
}

/** One step writes and one reader reads at the same time: chunks per second from the first chunk to the end. */
async function chunks(sdk, { count, size }) {
  const run = await sdk.start(sdk.workflows.streamer, [count, size]);
  const reader = run.getReadable().getReader();
  let began;
  let got = 0;
  for (;;) {
    const { done } = await reader.read();
    if (done) break;
    began ??= performance.now();
    got++;
  }
  const ms = performance.now() - (began ?? Number.NaN);
  if (got !== count) throw new Error(`${got} of ${count} chunks were read`);
  await completed(sdk, run.runId);
  return { perSecond: (count / ms) * 1000 };
}

/**
 * Resumes a run with a log of about `events` events: one replay of it, and the end of the run. The steps of this log
 * are not run, which would take a replay for each of them: messages for steps are intercepted here, and the events of
 * their deliveries are written through events.create, with the result of a step that did run.
 */
async function replay(sdk, { events }) {
  const { world, workflows } = sdk;
  const model = await sdk.start(workflows.addition, [1, 2]);
  await completed(sdk, model.runId);
  const { result } = (await log(sdk, model.runId)).find((e) => e.eventType === 'step_completed').eventData;

  const token = `bench-long-${Date.now()}`;
  const { queue } = world;
  const asked = new Set();
  let steps = [];
  world.queue = async (name, message, options) => {
    if (!message.stepId) return queue.call(world, name, message, options);
    if (!asked.has(message.stepId)) steps.push({ id: message.stepId, name: message.stepName ?? name.replace('__wkf_step_', '') });
    asked.add(message.stepId);
    return { messageId: null };
  };
  let run;
  try {
    run = await sdk.start(workflows.longThenHooked, [Math.floor((events - 6) / 3), token]);
    const write = (step, eventType, eventData) =>
      world.events.create(run.runId, { eventType, correlationId: step.id, eventData: { stepName: step.name, ...eventData }, specVersion: world.specVersion });
    const { workflowName } = await world.runs.get(run.runId);
    for (let seen = 0; !(await world.hooks.getByToken(token).catch(() => undefined)); seen = steps.length) {
      await delay(QUIET_MS);
      if (steps.length === 0 || steps.length > seen) continue; // more will come
      const batch = steps;
      steps = [];
      await atOnce(32, batch, async (step) => {
        await write(step, 'step_started', {});
        await write(step, 'step_completed', { result });
      });
      await queue.call(world, `__wkf_workflow_${workflowName}`, { runId: run.runId });
    }
  } finally {
    world.queue = queue;
  }
  const ms = await resume(sdk, run.runId, token);
  const { length } = await log(sdk, run.runId);
  if (Math.abs(length - events) > Math.max(10, events / 100)) throw new Error(`the log has ${length} events instead of ${events}`);
  return { latencies: [ms] };
}

async function atOnce(n, items, work) {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: n }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}

/** Polls every 5 ms, in every World. */
async function completed({ world }, runId) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { status } = await world.runs.get(runId, { resolveData: 'none' });
    if (status === 'completed') return;
    if (status === 'failed' || status === 'cancelled') throw new Error(`run ${runId} ${status}`);
    if (performance.now() > deadline) throw new Error(`run ${runId} is still ${status} after ${PATIENCE_MS / 1000} s`);
    await delay(POLL_MS);
  }
}

async function log({ world }, runId) {
  const events = [];
  let cursor;
  do {
    const page = await world.events.list({ runId, pagination: { sortOrder: 'asc', limit: 1000, cursor }, resolveData: 'all' });
    events.push(...page.data);
    cursor = page.hasMore ? page.cursor : undefined;
  } while (cursor);
  return events;
}
