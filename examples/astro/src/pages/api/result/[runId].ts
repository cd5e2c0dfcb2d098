import type { APIRoute } from 'astro';
import { getRun } from 'workflow/api';

export const prerender = false;

export const GET: APIRoute = async ({ params }) => {
  const run = getRun(params.runId ?? '');
  const status = await run.status;
  if (status !== 'completed') return Response.json({ status });
  const stream = await new Response(run.getReadable().pipeThrough(new TextEncoderStream())).text();
  return Response.json({ status, result: await run.returnValue, stream });
};
