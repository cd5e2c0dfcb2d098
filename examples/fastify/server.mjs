import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import Fastify from 'fastify';
import { getRun, resumeHook, resumeWebhook, start } from 'workflow/api';
import { getWorld } from 'workflow/runtime';
import { flow, step } from './bundles.mjs';

const app = Fastify();

// What the service calls. Its requests are signed, so their bodies are passed on as they came.
app.register(async (routes) => {
  routes.removeAllContentTypeParsers();
  routes.addContentTypeParser('*', (_request, _body, done) => done(null));
  routes.post('/.well-known/workflow/v1/flow', (request) => flow.POST(toWeb(request)));
  routes.post('/.well-known/workflow/v1/step', (request) => step.POST(toWeb(request)));
  routes.all('/.well-known/workflow/v1/webhook/:token', (request) => resumeWebhook(request.params.token, toWeb(request)));
});

function toWeb({ raw, url, method, headers }) {
  const body = method === 'GET' || method === 'HEAD' ? undefined : Readable.toWeb(raw);
  return new Request(new URL(url, `http://${headers.host}`), { method, headers, body, duplex: 'half' });
}

const { workflows } = JSON.parse(readFileSync('.well-known/workflow/v1/manifest.json', 'utf8'));
const { orderWorkflow } = workflows['workflows/order.ts'];

app.post('/api/start', async (request) => {
  const { runId } = await start(orderWorkflow, [request.body]);
  return { runId };
});
app.post('/api/resume/:token', async (request) => {
  await resumeHook(request.params.token, request.body);
  return {};
});
app.get('/api/result/:runId', async (request) => {
  const run = getRun(request.params.runId);
  const status = await run.status;
  if (status !== 'completed') return { status };
  const stream = await new Response(run.getReadable().pipeThrough(new TextEncoderStream())).text();
  return { status, result: await run.returnValue, stream };
});

await app.listen({ port: Number(process.env.PORT ?? 3000) });
await (await getWorld()).start?.();
