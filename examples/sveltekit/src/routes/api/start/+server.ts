import { json, type RequestHandler } from '@sveltejs/kit';
import { start } from 'workflow/api';
import { orderWorkflow } from '../../../../workflows/order';

export const POST: RequestHandler = async ({ request }) => {
  const { runId } = await start(orderWorkflow, [await request.json()]);
  return json({ runId });
};
