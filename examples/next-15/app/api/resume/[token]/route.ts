import { resumeHook } from 'workflow/api';

export async function POST(request: Request, { params }: { params: Promise<{ token: string }> }) {
  await resumeHook((await params).token, await request.json());
  return Response.json({});
}
