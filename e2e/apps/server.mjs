// @ts-check
// The end-to-end app of any SDK version: a Hono server around the bundles of `workflow build` in the working
// directory, with a small API for the tests. With E2E_APP, the bundles and the SDK come from that folder, and the working
// directory has nothing but the World, which the SDK looks for there.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const home = process.env.E2E_APP || process.cwd();
const require = createRequire(join(home, 'index.js'));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const modules = join(home, 'node_modules');
const { serve } = await load('@hono/node-server');
const { Hono } = await load('hono');
// The SDK's export map has no require condition for these two modules.
const { getHookByToken, getRun, resumeHook, resumeWebhook, start } = await import(join(modules, 'workflow/dist/api.js'));
const { getWorld } = await import(join(modules, 'workflow/dist/runtime.js'));

const bundles = join(home, '.well-known/workflow/v1');
const port = Number(process.env.PORT);
const world = await getWorld();
const workflows = Object.assign({}, ...Object.values(JSON.parse(readFileSync(join(bundles, 'manifest.json'), 'utf8')).workflows));
const deliveries = { flow: 0, step: 0, ...(process.env.E2E_JSON_ONLY && { refused: 0 }) };
const app = new Hono();

for (const kind of ['flow', 'step']) {
  const handler = await loadBundle(kind);
  if (!handler) continue; // SDK v5 has no step route
  app.all(`/.well-known/workflow/v1/${kind}`, async (c) => {
    const isProbe = c.req.query('__health') !== undefined || c.req.header('x-world-redis-probe') !== undefined;
    if (c.req.method === 'POST' && !isProbe) deliveries[kind]++;
    return handler.POST(process.env.E2E_JSON_ONLY ? await parsed(c) : c.req.raw);
  });
}

app.all('/.well-known/workflow/v1/webhook/:token', async (c) => {
  try {
    return await resumeWebhook(c.req.param('token'), c.req.raw);
  } catch (error) {
    console.error('webhook:', error.message);
    return c.body(null, 404);
  }
});

// Starts a run. The body is the list of arguments; `?options=` is the options of start(), in JSON.
app.post('/start/:workflow', async (c) => {
  const run = await start(workflowOf(c), await c.req.json(), JSON.parse(c.req.query('options') ?? '{}'));
  return c.json({ runId: run.runId });
});

// Starts a run in a World whose events.create does not reach the service: a copy by object spread, as callers may
// create.
app.post('/start-without-events/:workflow', async (c) => {
  const calls = [];
  const create = async (_runId, event) => {
    calls.push(event.eventType);
    throw Object.assign(new Error('made to fail'), { name: 'WorkflowWorldError', status: 500 });
  };
  const cut = { ...world, events: { ...world.events, create } };
  const run = await start(workflowOf(c), await c.req.json(), { world: cut });
  return c.json({ runId: run.runId, calls });
});

// Calls a step as a plain function, outside of a run.
app.post('/direct/:file/:step', async (c) => {
  const module = await import(pathToFileURL(join(home, 'workflows', `${c.req.param('file')}.ts`)).href);
  return c.json(await module[c.req.param('step')](...(await c.req.json())));
});

// Starts `count` runs, at most `atOnce` of them open at a time, and returns the ids and outcomes. With `late`, the
// first event of each is sent up to that many milliseconds after its message.
app.post('/flood/:workflow', async (c) => {
  const { args, count, atOnce, late } = await c.req.json();
  const workflow = workflowOf(c);
  const create = async (...event) => {
    await new Promise((done) => setTimeout(done, Math.random() * late));
    return await world.events.create(...event);
  };
  const options = late ? { world: { ...world, events: { ...world.events, create } } } : {};
  const outcomes = [];
  let left = count;
  const worker = async () => {
    while (left-- > 0) {
      const run = await start(workflow, args, options);
      outcomes.push({ runId: run.runId, ...(await outcomeOf(run.runId, AbortSignal.timeout(60_000))) });
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: atOnce }, worker));
  return c.json({ outcomes, milliseconds: performance.now() - began });
});

app.post('/resume', async (c) => {
  const { token, payload } = await c.req.json();
  const { runId } = await resumeHook(token, payload);
  return c.json({ runId });
});

app.get('/hook', async (c) => {
  const { runId, hookId, metadata } = await getHookByToken(c.req.query('token'));
  return c.json({ runId, hookId, metadata: await metadata });
});

app.post('/cancel/:runId', async (c) => {
  await getRun(c.req.param('runId')).cancel();
  return c.json({});
});

// Waits for the end of a run for as long as the caller does.
app.get('/outcome/:runId', async (c) => c.json(await outcomeOf(c.req.param('runId'), c.req.raw.signal)));

app.get('/stream/:runId', (c) => {
  const startIndex = Number(c.req.query('startIndex') ?? 0);
  return new Response(getRun(c.req.param('runId')).getReadable({ startIndex }));
});

// The same as a list of values, sent when the stream has ended; `?options=` is the argument of getReadable(). Bytes
// are returned as {bytes}.
app.get('/values/:runId', async (c) => {
  const values = await Array.fromAsync(getRun(c.req.param('runId')).getReadable(JSON.parse(c.req.query('options') ?? '{}')));
  return c.json(values.map((value) => (value instanceof Uint8Array ? { bytes: [...value] } : value)));
});

// The stream that a run returned, chunk by chunk.
app.get('/returned-stream/:runId', async (c) => new Response(await getRun(c.req.param('runId')).returnValue));

// What a run returned, with all values of the stream in its field `stream`, once that stream has ended.
app.get('/returned/:runId', async (c) => {
  const value = await getRun(c.req.param('runId')).returnValue;
  return c.json({ ...value, stream: await Array.fromAsync(value.stream) });
});

app.get('/deliveries', (c) => c.json(deliveries));
// How often the step in workflows/bodies.ts ran.
app.get('/bodies', (c) => c.json(globalThis.bodies ?? 0));
// The stack of the error that the step failsAfar in workflows/errors.ts threw last.
app.get('/thrown', (c) => c.json(globalThis.thrown ?? null));
// Whether the World shows the calls of SDKs from before event sourcing.
app.get('/legacy-calls', (c) => c.json([world.runs, world.steps, world.hooks].map((member) => 'create' in member)));
app.get('/ready', (c) => c.json({ pid: process.pid, node: process.version }));
app.onError((error, c) => {
  const { refusal } = /** @type {Error & { refusal?: object }} */ (error);
  return refusal ? c.json(refusal, 415) : c.json({ error: { name: error.name, message: error.message } }, 500);
});

// The SDK recognises a Response by its class, so the class of the platform's own fetch has to stay the global one.
const overrideGlobalObjects = false;
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1', overrideGlobalObjects }, async () => {
  if (process.env.E2E_APP_SILENT !== '1') await world.start?.();
});

process.once('SIGTERM', () => {
  server.close(async () => {
    await world.close?.();
    process.exit(0);
  });
  server.closeIdleConnections();
});

/**
 * The request as a framework gives it to a handler that has a parser for JSON only (Fastify, and Nest on it): the
 * body is parsed, and printed again. Any other content type is refused as Fastify does.
 */
async function parsed(c) {
  const { method, headers, url } = c.req.raw;
  if (method !== 'POST' || c.req.query('__health') !== undefined) return c.req.raw;
  if (headers.get('content-type') !== 'application/json') {
    const refusal = { statusCode: 415, code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE', error: 'Unsupported Media Type', message: 'Unsupported Media Type' };
    deliveries.refused = (deliveries.refused ?? 0) + 1;
    throw Object.assign(new Error(refusal.message), { refusal });
  }
  return new Request(url, { method, headers, body: JSON.stringify(await c.req.json()) });
}

async function loadBundle(name) {
  const file = ['mjs', 'js'].map((extension) => join(bundles, `${name}.${extension}`)).find(existsSync);
  if (!file) return undefined;
  const module = await import(pathToFileURL(file).href);
  return module.POST ? module : module.default;
}

function workflowOf(c) {
  const name = c.req.param('workflow');
  if (name.startsWith('workflow//')) return { workflowId: name }; // whether the app has it or not
  const workflow = workflows[name];
  if (!workflow) throw new Error(`this app has no workflow ${name}`);
  return workflow;
}

// Polls every 20 ms: the SDK's own returnValue polls once a second.
async function outcomeOf(runId, signal) {
  for (;;) {
    signal.throwIfAborted();
    const { status } = await world.runs.get(runId, { resolveData: 'none' });
    if (status === 'completed') return { status, value: await getRun(runId).returnValue };
    if (status === 'failed' || status === 'cancelled') {
      const error = await getRun(runId).returnValue.catch((e) => e);
      return { status, error: { ...plain(error), code: error.errorCode ?? error.cause?.code } };
    }
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** An error with its causes, as JSON; other values unchanged. */
function plain(value) {
  if (!(value instanceof Error)) return value;
  const { name, message, stack, fatal, cause } = /** @type {Error & { fatal?: boolean }} */ (value);
  return { name, message, stack, fatal, cause: plain(cause) };
}
