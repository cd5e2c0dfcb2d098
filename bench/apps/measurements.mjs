// What the app can measure; each takes the SDK and its settings. Times are in milliseconds.
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 5;
const PATIENCE_MS = 120_000;

export const measurements = { flood, naps, hooks, firstChunk, chunks, replay };

/** Runs `n` workflows, `conc` of them outstanding at a time: latency from start() to completed, and runs a second. */
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
 * How late sleeps end, by the run's own log: from the moment that was asked for to the event that ends the wait. `ms`
 * is whole seconds, for the SDK asks a World for no less: what it waits longer for is not the World's doing.
 */
async function naps(sdk, { n, ms }) {
  const late = async () => {
    const { runId } = await sdk.start(sdk.workflows.nap, [ms]);
    await completed(sdk, runId);
    const events = await log(sdk, runId);
    const asked = events.find((e) => e.eventType === 'wait_created').eventData.resumeAt;
    return new Date(events.find((e) => e.eventType === 'wait_completed').createdAt) - new Date(asked);
  };
  return { latencies: await Promise.all(Array.from({ length: n }, late)) };
}

/** From resumeHook() to the run that waited for it being completed. */
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
    if (performance.now() > deadline) throw new Error('the hook did not come');
    await delay(POLL_MS);
  }
  await delay(30); // until the delivery that made the hook is over
  const began = performance.now();
  await sdk.resumeHook(token, { value: 1 });
  await completed(sdk, runId);
  return performance.now() - began;
}

/** From start() to the first chunk at a reader that was there from the beginning. */
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

/** One step writes, one reader reads along: chunks a second from the first chunk to the end. */
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
  const ms = performance.now() - began;
  if (got !== count) throw new Error(`${got} of ${count} chunks came`);
  await completed(sdk, run.runId);
  return { perSecond: (count / ms) * 1000 };
}

/** Resumes a run with a log of 3 n events and more: one replay of it, and the end of the run. */
async function replay(sdk, { n }) {
  const token = `bench-long-${Date.now()}`;
  const { runId } = await sdk.start(sdk.workflows.longThenHooked, [n, token]);
  return { latencies: [await resume(sdk, runId, token)] };
}

/** Looks every 5 ms, in every World alike. */
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
