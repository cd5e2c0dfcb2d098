// The shop: a plain Hono server around the bundles that `workflow build` made.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { getRun, resumeHook, resumeWebhook, start } from 'workflow/api';
import { getWorld } from 'workflow/runtime';
import { readLog } from './demo/log.mjs';

// The SDK takes the world's name from the environment; this is ours.
process.env.WORKFLOW_TARGET_WORLD ||= '@world-redis/client';
const port = Number((process.env.PORT ||= '3000'));

const require = createRequire(import.meta.url);
const built = './.well-known/workflow/v1';
const flow = require(`${built}/flow.js`);
const step = require(`${built}/step.js`);
const manifest = JSON.parse(readFileSync(new URL(`${built}/manifest.json`, import.meta.url), 'utf8'));
const { processOrder } = manifest.workflows['workflows/order.ts'];

const world = getWorld();
const app = new Hono();

// What world-redis calls when there is work to do. Keep other middleware away from these paths.
app.post('/.well-known/workflow/v1/flow', (c) => flow.POST(c.req.raw));
app.post('/.well-known/workflow/v1/step', (c) => step.POST(c.req.raw));
app.all('/.well-known/workflow/v1/webhook/:token', async (c) => {
  try {
    return await resumeWebhook(c.req.param('token'), c.req.raw);
  } catch {
    return c.body(null, 404);
  }
});

// The shop's own routes.
app.post('/orders', async (c) => {
  const run = await start(processOrder, [await c.req.json()]);
  return c.json({ runId: run.runId }, 202);
});

app.post('/orders/:id/approval', async (c) => {
  await resumeHook(`order/${c.req.param('id')}/approval`, await c.req.json());
  return c.json({ approved: true });
});

app.get('/runs/:runId/progress', (c) => {
  const lines = getRun(c.req.param('runId'))
    .getReadable()
    .pipeThrough(new TransformStream({ transform: (line, out) => out.enqueue(`${line}\n`) }))
    .pipeThrough(new TextEncoderStream());
  return new Response(lines, { headers: { 'content-type': 'text/plain; charset=utf-8' } });
});

app.get('/runs/:runId/result', async (c) => c.json(await getRun(c.req.param('runId')).returnValue));
app.get('/runs/:runId/log', async (c) => c.json(await readLog(world, c.req.param('runId'))));
app.get('/healthz', (c) => c.json({ ok: true }));

const server = serve({ fetch: app.fetch, port, hostname: process.env.HOST || '127.0.0.1' }, async () => {
  // From here on world-redis knows where to deliver.
  await world.start?.();
  console.log(`shop is open on http://127.0.0.1:${port}`);
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close(async () => {
      await world.close?.();
      process.exit(0);
    });
    server.closeIdleConnections();
  });
}
