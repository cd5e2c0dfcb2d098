import { start } from 'workflow/api';
import { orderWorkflow } from '../../../workflows/order';

export async function POST(request: Request) {
  const { runId } = await start(orderWorkflow, [await request.json()]);
  return Response.json({ runId });
}
