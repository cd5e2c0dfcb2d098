import express from 'express';
import { getRun, resumeHook, start } from 'workflow/api';
import { orderWorkflow } from '../workflows/order.js';

const app = express();
app.use(express.json());

app.post('/api/start', async (request, response) => {
  const { runId } = await start(orderWorkflow, [request.body]);
  response.json({ runId });
});
app.post('/api/resume/:token', async (request, response) => {
  await resumeHook(request.params.token, request.body);
  response.json({});
});
app.get('/api/result/:runId', async (request, response) => {
  const run = getRun(request.params.runId);
  const status = await run.status;
  if (status !== 'completed') return response.json({ status });
  const stream = await new Response(run.getReadable().pipeThrough(new TextEncoderStream())).text();
  response.json({ status, result: await run.returnValue, stream });
});

export default app;
