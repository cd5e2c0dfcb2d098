import { getRun } from 'workflow/api';

export default defineEventHandler(async (event) => {
  const run = getRun(getRouterParam(event, 'runId') ?? '');
  const status = await run.status;
  if (status !== 'completed') return { status };
  const stream = await new Response(run.getReadable<string>().pipeThrough(new TextEncoderStream())).text();
  return { status, result: await run.returnValue, stream };
});
