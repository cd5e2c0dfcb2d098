import type { AsyncLocalStorage } from 'node:async_hooks';
import { type Config, sameService } from '../config.js';
import { detectSdk } from '../sdk/sdk.js';
import type { StepExecution } from '../sdk/stepContext.js';
import { decode } from '../wire/encoding.js';
import { type Fields, isFields } from '../wire/moments.js';
import { processWide } from './processWide.js';
import { ATTACHED_HEADER } from './signature.js';

/**
 * The first call that SDK v4 makes of a wake-up is run_started, which changes nothing of a run that is running: it
 * brings the run and its log. The service sends that answer along with the wake-up, read just before, and the call is
 * answered from here.
 *
 * What happens to the run after the reading is the same as what happens after that call: whoever writes to the log
 * wakes the run afterwards, with a message that is not folded into one that is being delivered, and what cannot be
 * written any more, because the run has ended, is refused when it is tried.
 */

/** What deliveries to this app may bring along: answers to these events. */
export function attachable(config: Config): string[] {
  return detectSdk() === 'v4' && believed(config) ? ['run_started'] : [];
}

/**
 * Whether what comes along can be told from what somebody made up, who would so decide what a run has gone through.
 * Without a key it cannot, and an app in production then asks the service as ever.
 */
function believed({ signingKeys, tokens }: Config): boolean {
  return signingKeys.length > 0 || tokens.length > 0 || process.env['NODE_ENV'] !== 'production';
}

/** What came along with a delivery. */
interface Delivery {
  config: Config;
  /** As they came, so that who gets the answer shares it with nobody; undefined once an event was created. */
  bytes: Uint8Array | undefined;
  /** The step that this delivery runs; one of v4 runs one at most. */
  step?: StepExecution;
}

function deliveries(): AsyncLocalStorage<Delivery> {
  return processWide('attached', () => {
    // Loaded here and not at import, so that an app that is only being built does not pay for it.
    const { AsyncLocalStorage } = require('node:async_hooks') as typeof import('node:async_hooks');
    return new AsyncLocalStorage();
  });
}

/** Parts the body of a delivery; undefined: it is not what the header says. */
export function partBody(headers: Headers, body: Uint8Array): { message: Uint8Array; attached?: Uint8Array } | undefined {
  const length = headers.get(ATTACHED_HEADER);
  if (length === null) return { message: body };
  const at = /^[1-9]\d{0,8}$/.test(length) ? body.byteLength - Number(length) : 0;
  return at > 0 ? { message: body.subarray(0, at), attached: body.subarray(at) } : undefined;
}

/** Works on a delivery; what came along with it ends with it. */
export async function withAttached<T>(config: Config, bytes: Uint8Array | undefined, work: () => Promise<T>): Promise<T> {
  if (detectSdk() !== 'v4') return work();
  const delivery: Delivery = { config, bytes: believed(config) ? bytes : undefined };
  try {
    return await deliveries().run(delivery, work);
  } finally {
    delivery.bytes = undefined;
  }
}

/**
 * The answer to an event that is about to be created, decoded and not revived yet; undefined: there is none here. It
 * is for the first event of the delivery, and only for a run_started that asks for nothing else.
 */
export function takeAttached(config: () => Config, runId: string | null, request: () => Fields): Fields | undefined {
  const delivery = current();
  const bytes = spendAttached();
  if (!delivery || !bytes || !sameService(config(), delivery.config) || !isBareStart(request())) return undefined;
  try {
    const answer = decode(bytes);
    const run = isFields(answer) ? answer['run'] : undefined;
    return isFields(run) && run['runId'] === runId && run['status'] === 'running' ? (answer as Fields) : undefined;
  } catch {
    return undefined; // the service has the answer, too
  }
}

/** What came along with this delivery, for the last time. */
export function spendAttached(): Uint8Array | undefined {
  const delivery = current();
  const bytes = delivery?.bytes;
  if (delivery) delivery.bytes = undefined;
  return bytes;
}

/** Notes that the delivery has started a step. */
export function noteDeliveredStep(step: StepExecution): void {
  const delivery = current();
  if (delivery) delivery.step = step;
}

/** The step that the caller's delivery runs, in a process with SDK v4. */
export function deliveredStep(): StepExecution | undefined {
  return current()?.step;
}

function current(): Delivery | undefined {
  return detectSdk() === 'v4' ? deliveries().getStore() : undefined;
}

/** Whether the body of events.create says no more than that the run starts. */
function isBareStart({ event, params }: Fields): boolean {
  const { eventType, specVersion, ...more } = event as Fields;
  const told = [...Object.values(more), ...Object.values(params as Fields)];
  return eventType === 'run_started' && typeof specVersion === 'number' && told.every((value) => value === undefined);
}
