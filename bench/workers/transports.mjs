// @ts-check
// The same calls of the real client over one transport: HTTP/1.1, the call socket, or HTTP/2 without TLS (h2c), which the
// client does not have and which takes the place of its HTTP/1.1 here. The benchmark of cmd/world-redis that starts this
// process measures the service meanwhile: this one prints "ready", waits for a line, makes the calls and prints a result.
import { once } from 'node:events';
import { connect } from 'node:http2';
import { createRequire } from 'node:module';
import { median, quantile } from '../lib/stats.mjs';

const { h2c, operation, callers, calls } = JSON.parse(process.argv[2]);
const url = process.env.WORKFLOW_WORLD_URL ?? '';
const client = createRequire(new URL('../../client/build/index.js', import.meta.url));
const { createWorld } = client('./index.js');

if (h2c) {
  const session = connect(url, { settings: { enablePush: false } });
  client('./transport/exchange.js').Exchange.prototype.request = (outgoing) => requestOn(session, outgoing);
}

/** What Exchange.request does, as a stream of the one session. */
function requestOn(session, { method, path, headers, body, timeoutMs }) {
  return new Promise((resolve, reject) => {
    const length = body && { 'content-length': String(body.byteLength) };
    const stream = session.request({ ':method': method, ':path': path, ...headers, ...length }, { endStream: body === undefined });
    let head;
    const parts = [];
    stream.setTimeout(timeoutMs, () => stream.destroy(new Error('no answer')));
    stream.on('response', (received) => (head = received));
    stream.on('data', (part) => parts.push(part));
    stream.on('end', () => resolve({ status: head[':status'], headers: head, body: new Uint8Array(Buffer.concat(parts)) }));
    stream.on('error', reject);
    if (body !== undefined) stream.end(body);
  });
}

const EVENTS_OF_A_RUN = 500;
const WARM_CALLS = 400;
const world = createWorld();
const payload = Uint8Array.from({ length: 200 }, (_, i) => (i * 31 + 7) & 255);

async function newRun() {
  const eventData = { deploymentId: 'bench', workflowName: 'workflow//./workflows/bench//transports', input: payload, executionContext: {} };
  const { run } = await world.events.create(null, { eventType: 'run_created', specVersion: 3, eventData }, { v1Compat: false });
  await world.events.create(run.runId, { eventType: 'run_started', specVersion: 3 }, { v1Compat: false });
  return run.runId;
}

const runs = [];
for (let made = 0; made < calls + WARM_CALLS; made += EVENTS_OF_A_RUN) runs.push(await newRun());
let made = 0;
const operations = {
  read: () => world.runs.get(runs[made++ % runs.length], { resolveData: 'none' }),
  create: () => {
    const run = runs[Math.floor(made / EVENTS_OF_A_RUN)];
    const event = { eventType: 'step_created', specVersion: 3, correlationId: `step_${++made}`, eventData: { stepName: 'step//./workflows/bench//add', input: payload } };
    return world.events.create(run, event, { v1Compat: false });
  },
};
const call = operations[operation];

async function share(count) {
  const latencies = [];
  let left = count;
  const caller = async () => {
    while (left-- > 0) {
      const began = performance.now();
      await call();
      latencies.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return latencies;
}

await share(WARM_CALLS);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const cpu = process.cpuUsage();
const began = performance.now();
const latencies = await share(calls);
const tookMs = performance.now() - began;
const { user, system } = process.cpuUsage(cpu);
const result = { p50: median(latencies), p95: quantile(latencies, 0.95), perSecond: (calls / tookMs) * 1000, clientMicros: (user + system) / calls };
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
