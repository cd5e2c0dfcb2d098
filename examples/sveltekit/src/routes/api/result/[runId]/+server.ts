import { json, type RequestHandler } from '@sveltejs/kit';
import { getRun } from 'workflow/api';

export const GET: RequestHandler = async ({ params }) => {
  const run = getRun(params.runId ?? '');
  const status = await run.status;
  if (status !== 'completed') return json({ status });
  const stream = await new Response(run.getReadable().pipeThrough(new TextEncoderStream())).text();
  return json({ status, result: await run.returnValue, stream });
};
