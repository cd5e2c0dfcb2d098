import type { APIRoute } from 'astro';
import { start } from 'workflow/api';
import { orderWorkflow } from '../../workflows/order';

export const prerender = false;

export const POST: APIRoute = async ({ request }) => {
  const { runId } = await start(orderWorkflow, [await request.json()]);
  return Response.json({ runId });
};
