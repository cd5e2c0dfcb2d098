import { defineHandler } from 'nitro/h3';
import { getRun } from 'workflow/api';

export default defineHandler(async (event) => {
  const run = getRun(event.context.params?.runId ?? '');
  const status = await run.status;
  if (status !== 'completed') return { status };
  const stream = await new Response(run.getReadable<string>().pipeThrough(new TextEncoderStream())).text();
  return { status, result: await run.returnValue, stream };
});
