import { readFileSync } from 'node:fs';
import { Hono } from 'hono';
import { getRun, resumeHook, resumeWebhook, start } from 'workflow/api';
import { getWorld } from 'workflow/runtime';
import { flow, step } from './bundles.mjs';

const app = new Hono();

// What the service calls. Keep middleware that reads bodies away from these paths.
app.post('/.well-known/workflow/v1/flow', (c) => flow.POST(c.req.raw));
app.post('/.well-known/workflow/v1/step', (c) => step.POST(c.req.raw));
app.all('/.well-known/workflow/v1/webhook/:token', (c) => resumeWebhook(c.req.param('token'), c.req.raw));

const { workflows } = JSON.parse(readFileSync('.well-known/workflow/v1/manifest.json', 'utf8'));
const { orderWorkflow } = workflows['workflows/order.ts'];

app.post('/api/start', async (c) => {
  const { runId } = await start(orderWorkflow, [await c.req.json()]);
  return c.json({ runId });
});
app.post('/api/resume/:token', async (c) => {
  await resumeHook(c.req.param('token'), await c.req.json());
  return c.json({});
});
app.get('/api/result/:runId', async (c) => {
  const run = getRun(c.req.param('runId'));
  const status = await run.status;
  if (status !== 'completed') return c.json({ status });
  const stream = await new Response(run.getReadable().pipeThrough(new TextEncoderStream())).text();
  return c.json({ status, result: await run.returnValue, stream });
});

const server = Bun.serve({ port: process.env.PORT ?? 3000, fetch: app.fetch });
await (await getWorld()).start?.();
console.log(`listening on ${server.url}`);
