import { createHook, getWritable, sleep } from 'workflow';

export interface Order {
  id: string;
  cents: number;
}

/** Prices an order, waits a second, then for an approval, and ships the order. */
export async function orderWorkflow(order: Order) {
  'use workflow';

  const cents = await price(order);
  await sleep('1s');
  const approval = createHook<{ by: string }>({ token: `order-${order.id}` });
  const { by } = await approval;
  const parcel = await ship(order, by);
  return { order: order.id, cents, by, parcel };
}

async function price(order: Order) {
  'use step';
  const cents = order.cents + 490;
  const writer = getWritable<string>().getWriter();
  await writer.write(`priced at ${cents} cents\n`);
  writer.releaseLock();
  return cents;
}

async function ship(order: Order, by: string) {
  'use step';
  const writer = getWritable<string>().getWriter();
  await writer.write(`approved by ${by}\n`);
  await writer.close();
  return `parcel-${order.id}`;
}
