import { start } from 'workflow/api';
import { type Order, orderWorkflow } from '../workflows/order';

export default defineEventHandler(async (event) => {
  const { runId } = await start(orderWorkflow, [await readBody<Order>(event)]);
  return { runId };
});
