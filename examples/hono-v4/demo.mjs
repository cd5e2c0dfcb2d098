// `make demo`: starts world-redis with its embedded Redis and the shop, sends one order through,
// prints what happened and when, and stops everything again.
//
//   node demo.mjs PATH_OF_THE_WORLD_REDIS_BINARY
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort, startChild, stopChild, untilReady } from './demo/child.mjs';
import { table } from './demo/table.mjs';

const { positionals } = parseArgs({ allowPositionals: true });
const binary = positionals[0] ?? fileURLToPath(new URL('../../bin/world-redis', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
const deadline = AbortSignal.timeout(60_000);
const order = {
  id: `A-${Date.now() % 100_000}`,
  customer: 'Ada',
  lines: [
    { sku: 'teapot', quantity: 1, cents: 2_450 },
    { sku: 'cup', quantity: 4, cents: 650 },
  ],
};
const children = [];

try {
  const shop = await startAll();
  const runId = await placeOrder(shop);
  await followProgress(shop, runId);
  const result = await (await call(shop, `/runs/${runId}/result`)).json();
  const log = await (await call(shop, `/runs/${runId}/log`)).json();
  print(runId, log, result);
  await stopAll();
  console.log('\nService and shop are stopped. To look around yourself: examples/hono-v4/README.md');
} catch (error) {
  console.error(`\ndemo failed: ${error.message}`);
  for (const { name, output } of children) {
    console.error(`\n--- the last lines of the ${name} ---\n${output.split('\n').slice(-25).join('\n')}`);
  }
  process.exitCode = 1;
  await stopAll().catch(() => {});
}

async function startAll() {
  const service = `http://127.0.0.1:${await freePort()}`;
  const shop = `http://127.0.0.1:${await freePort()}`;
  const { PATH, HOME } = process.env;

  const server = startChild('service', binary, ['serve'], {
    env: { PATH, HOME, WORKFLOW_WORLD_LISTEN: new URL(service).host },
  });
  children.push(server);
  await untilReady(server, `${service}/readyz`, deadline);

  const app = startChild('shop', process.execPath, ['server.mjs'], {
    cwd: here,
    env: {
      PATH,
      HOME,
      PORT: new URL(shop).port,
      WORKFLOW_TARGET_WORLD: '@world-redis/client',
      WORKFLOW_WORLD_URL: service,
      WORKFLOW_BASE_URL: shop,
    },
  });
  children.unshift(app); // stopped first
  await untilReady(app, `${shop}/healthz`, deadline);

  console.log('One order, from the till to the door');
  console.log(`  service  ${service}  world-redis, Redis embedded`);
  console.log(`  shop     ${shop}  Hono, Workflow SDK 4.8.9, Node ${process.version}`);
  return shop;
}

async function stopAll() {
  for (const child of children) await stopChild(child);
}

async function call(shop, path, body) {
  const response = await fetch(shop + path, {
    method: body ? 'POST' : 'GET',
    headers: body && { 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: deadline,
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${(await response.text()).slice(0, 300)}`);
  return response;
}

async function placeOrder(shop) {
  const { runId } = await (await call(shop, '/orders', order)).json();
  console.log(`\nOrder ${order.id} is run ${runId}. Its stream, live:`);
  return runId;
}

/** Prints the run's stream as it comes, and approves the order when the workflow asks for it. */
async function followProgress(shop, runId) {
  const started = performance.now();
  const { body } = await call(shop, `/runs/${runId}/progress`);
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      console.log(`  ${seconds(performance.now() - started)}  ${line}`);
      if (line.startsWith('waiting for approval')) {
        await call(shop, `/orders/${order.id}/approval`, { by: 'Grace' });
        console.log(`  ${seconds(performance.now() - started)}  (the demo resumed the hook)`);
      }
    }
  }
}

function print(runId, log, result) {
  const columns = [
    { key: 'time', title: 'ms', right: true },
    { key: 'type', title: 'event' },
    { key: 'subject', title: 'of' },
    { key: 'attempt', title: 'attempt', right: true },
    { key: 'detail', title: 'note' },
  ];
  const rows = log.map((entry) => ({ ...entry, time: entry.at - log[0].at }));
  console.log(`\nTimeline, ${log.length} events:\n${table(columns, rows)}`);
  console.log(
    `\nResult:\n${table(
      [
        { key: 'name', title: 'field' },
        { key: 'value', title: 'value' },
      ],
      Object.entries(result).map(([name, value]) => ({ name, value: typeof value === 'string' ? value : JSON.stringify(value) })),
    )}`,
  );
  const last = log.at(-1)?.type;
  if (last !== 'run_completed') throw new Error(`the log of ${runId} ends with ${last}`);
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(2)} s`.padStart(8);
}
