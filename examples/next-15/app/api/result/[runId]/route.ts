import { getRun } from 'workflow/api';

export async function GET(_request: Request, { params }: { params: Promise<{ runId: string }> }) {
  const run = getRun((await params).runId);
  const status = await run.status;
  if (status !== 'completed') return Response.json({ status });
  const stream = await new Response(run.getReadable<string>().pipeThrough(new TextEncoderStream())).text();
  return Response.json({ status, result: await run.returnValue, stream });
}
