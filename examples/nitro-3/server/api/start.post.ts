import { defineHandler } from 'nitro/h3';
import { start } from 'workflow/api';
import { type Order, orderWorkflow } from '../../workflows/order';

export default defineHandler(async (event) => {
  const { runId } = await start(orderWorkflow, [(await event.req.json()) as Order]);
  return { runId };
});
