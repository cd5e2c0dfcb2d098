// @ts-check
// The measurements of any queue: `open(stubUrl)` returns `{add(name, message, delayMs), close()}`.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { portOf } from '../../e2e/lib/process.mjs';

const settings = JSON.parse(process.argv[2]);
const payload = 'x'.repeat(300);
let serial = 0;

/** Runs the measurement that the settings name and prints its result. */
export async function measureQueue(open) {
  const result = await { hop, throughput, delayed }[settings.measure](open);
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}

const message = () => ({ runId: `wrun_${process.pid}${Date.now()}${serial++}`, payload });
const now = () => performance.timeOrigin + performance.now();

/** One message at a time: from the enqueuing call to the first byte at the app, which is this process. */
async function hop(open) {
  let arrived;
  const stub = createServer((request, response) => {
    if (!request.url?.includes('__health')) arrived?.(performance.now());
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end('{"ok":true}');
  });
  await new Promise((done) => stub.listen(0, '127.0.0.1', () => done(undefined)));
  const stubUrl = `http://127.0.0.1:${portOf(stub)}`;
  const worker = settings.worker && (await startWorker(stubUrl));
  const queue = await open(stubUrl);
  const latencies = [];
  for (let i = 0; i < settings.n + 20; i++) {
    const arrival = new Promise((done) => (arrived = done));
    const began = performance.now();
    await queue.add('hop', message());
    const took = (await arrival) - began;
    if (i >= 20) latencies.push(took);
    await delay(5 + (i % 10)); // by then the queue is idle again
  }
  worker?.kill();
  return { latencies };
}

/** Enqueues like an app, 32 calls at a time, while the queue delivers; the stub is a separate process. */
async function throughput(open) {
  const queue = await open(settings.stubUrl);
  await addAll(queue, settings.warm, 32);
  await seen(settings.warm);
  const began = performance.now();
  await addAll(queue, settings.n, 32);
  const enqueued = performance.now() - began;
  await seen(settings.warm + settings.n);
  const delivered = performance.now() - began;
  return { perSecond: (settings.n / delivered) * 1000, enqueuedPerSecond: (settings.n / enqueued) * 1000 };
}

/** `n` messages that become due within one second, and one interactive message every 20 ms from then until all are delivered. */
async function delayed(open) {
  const queue = await open(settings.stubUrl);
  const due = now() + settings.leadMs;
  await addAll(queue, settings.n, 32, (i) => Math.max(1, due + (i / settings.n) * 1_000 - now()));
  const spare = due - now();
  if (spare < 0) throw new Error(`enqueuing took ${Math.round(-spare)} ms longer than the lead of ${settings.leadMs} ms`);
  await delay(spare);
  const sent = new Map();
  const all = seen(settings.n);
  let over = false;
  all.finally(() => (over = true));
  const calls = [];
  while (!over) {
    const at = now();
    calls.push(queue.add('interactive', message()).then((id) => sent.set(id, at)));
    await delay(20);
  }
  const { last } = await all;
  await Promise.all(calls);
  await delay(1_000);
  const { interactive } = await seen(0);
  const latencies = [...sent].map(([id, at]) => (id in interactive ? interactive[id] - at : Number.POSITIVE_INFINITY));
  return { lastAfterDue: last - due, lost: latencies.filter((v) => v === Number.POSITIVE_INFINITY).length, latencies: latencies.filter(Number.isFinite) };
}

async function addAll(queue, count, callers, delayOf) {
  let next = 0;
  const caller = async () => {
    while (next < count) {
      const i = next++;
      await queue.add('load', message(), delayOf?.(i));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

async function seen(count) {
  const answer = /** @type {any} */ (await (await fetch(`${settings.stubUrl}/seen?count=${count}`)).json());
  if (answer.arrived < count) throw new Error(`${answer.arrived} of ${count} messages were delivered within a minute`);
  return answer;
}

/** BullMQ's worker for the stub in this process. */
async function startWorker(stubUrl) {
  const { spawn } = await import('node:child_process');
  const child = spawn(process.execPath, [settings.worker, JSON.stringify({ stubUrl, concurrency: settings.concurrency })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill());
  await new Promise((done, fail) => child.stdout.once('data', done) && child.once('exit', () => fail(new Error('the worker ended'))));
  return child;
}
