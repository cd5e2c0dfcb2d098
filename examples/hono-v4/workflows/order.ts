import { createHook, getStepMetadata, getWritable, RetryableError, sleep } from 'workflow';

export interface OrderLine {
  sku: string;
  quantity: number;
  cents: number;
}

export interface Order {
  id: string;
  customer: string;
  lines: OrderLine[];
}

export interface Approval {
  by: string;
}

/** The token that whoever approves the order has to know. */
export const approvalToken = (orderId: string) => `order/${orderId}/approval`;

/**
 * Takes an order from the till to the door. Everything that touches the outside
 * world is a step; this function only says what comes after what, and may be
 * replayed at any time.
 */
export async function processOrder(order: Order) {
  'use workflow';

  const total = await priceOrder(order);

  // In parallel: a reservation for each line, and the carrier's quote.
  const [reservations, shipping] = await Promise.all([Promise.all(order.lines.map((line) => reserveStock(order.id, line))), quoteShipping(order)]);

  // Fails the first time, on purpose: the SDK tries again a second later.
  const payment = await chargeCard(order.id, total + shipping);

  // Two seconds in which the customer may think again. Nothing runs meanwhile.
  await sleep('2s');

  // Waits for a person, for as long as it takes.
  const approval = createHook<Approval>({ token: approvalToken(order.id) });
  await askForApproval(order.id);
  const { by } = await approval;

  const parcel = await ship(order.id, by);
  return { order: order.id, cents: total + shipping, reservations, payment, approvedBy: by, parcel };
}

async function priceOrder(order: Order) {
  'use step';
  const total = order.lines.reduce((sum, line) => sum + line.quantity * line.cents, 0);
  await report(`priced ${order.lines.length} lines at ${total} cents`);
  return total;
}

async function reserveStock(orderId: string, line: OrderLine) {
  'use step';
  await workFor(60);
  await report(`reserved ${line.quantity} × ${line.sku}`);
  return `${orderId}-${line.sku}`;
}

async function quoteShipping(order: Order) {
  'use step';
  await workFor(120);
  await report('carrier quoted 490 cents');
  return 490;
}

async function chargeCard(orderId: string, cents: number) {
  'use step';
  const { attempt } = getStepMetadata();
  if (attempt === 1) {
    await report('the bank did not answer, trying again');
    throw new RetryableError('bank timed out', { retryAfter: '1s' });
  }
  await report(`charged ${cents} cents at attempt ${attempt}`);
  return { reference: `pay-${orderId}`, attempt };
}

async function askForApproval(orderId: string) {
  'use step';
  await report(`waiting for approval of order ${orderId}`);
}

async function ship(orderId: string, approvedBy: string) {
  'use step';
  const writer = getWritable<string>().getWriter();
  await writer.write(`approved by ${approvedBy}, on its way`);
  await writer.close();
  return `parcel-${orderId}`;
}

/** Adds a line to the run's stream, which the shop shows to the customer. */
async function report(text: string) {
  const writer = getWritable<string>().getWriter();
  await writer.write(text);
  writer.releaseLock();
}

function workFor(milliseconds: number) {
  return new Promise((done) => setTimeout(done, milliseconds));
}
