import type { AsyncLocalStorage } from 'node:async_hooks';
import { type Config, sameService } from '../config.js';
import { detectSdk } from '../sdk/sdk.js';
import type { StepExecution } from '../sdk/stepContext.js';
import { decode } from '../wire/encoding.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import { processWide } from './processWide.js';
import { PRELOAD_HEADER } from './signature.js';

/**
 * The first call that SDK v4 makes of a wake-up is run_started, which changes nothing of a run that is running: it
 * brings the run and its log. The service preloads that answer: it reads it just before the wake-up and sends both in
 * one delivery, and the call is answered from here.
 *
 * What happens to the run after the reading is the same as what happens after that call: a write to the log is followed by a wake-up
 * of the run, with a message that is not folded into one that is being delivered, and what cannot be
 * written any more, because the run has ended, is refused when it is tried.
 */

/** What the service may preload for this app: answers to these events. */
export function preloadable(config: Config): string[] {
  return detectSdk() === 'v4' && taken(config) ? ['run_started'] : [];
}

/** Whether this app takes the preload of a delivery. */
function taken(config: Config): boolean {
  return config.fastPaths.has('preload') && trusted(config);
}

/**
 * Whether a preload can be trusted: a forged one would decide what a run has gone through. Without a key it
 * cannot, and an app in production then asks the service as usual.
 */
function trusted({ signingKeys, tokens }: Config): boolean {
  return signingKeys.length > 0 || tokens.length > 0 || process.env['NODE_ENV'] !== 'production';
}

/** A delivery with its preload. */
interface Delivery {
  config: Config;
  /** Still encoded, so that each caller gets a copy of its own; undefined once an event was created. */
  bytes: Uint8Array | undefined;
  /** The step that this delivery runs; one of v4 runs one at most. */
  step?: StepExecution;
}

function deliveries(): AsyncLocalStorage<Delivery> {
  return processWide('preload', () => {
    // Loaded here and not at import, so that an app that is only being built does not pay for it.
    const { AsyncLocalStorage } = require('node:async_hooks') as typeof import('node:async_hooks');
    return new AsyncLocalStorage();
  });
}

/** Splits the body of a delivery into message and preload; undefined when it is not what the header says. */
export function splitBody(headers: Headers, body: Uint8Array): { message: Uint8Array; preload?: Uint8Array } | undefined {
  const length = headers.get(PRELOAD_HEADER);
  if (length === null) return { message: body };
  const at = /^[1-9]\d{0,8}$/.test(length) ? body.byteLength - Number(length) : 0;
  return at > 0 ? { message: body.subarray(0, at), preload: body.subarray(at) } : undefined;
}

/** Works on a delivery; its preload ends with it. */
export async function withPreload<T>(config: Config, bytes: Uint8Array | undefined, work: () => Promise<T>): Promise<T> {
  if (detectSdk() !== 'v4') return work();
  const delivery: Delivery = { config, bytes: taken(config) ? bytes : undefined };
  try {
    return await deliveries().run(delivery, work);
  } finally {
    delivery.bytes = undefined;
  }
}

/**
 * The answer to an event that is about to be created, decoded and not revived yet; undefined if there is none here. It
 * is for the first event of the delivery, and only for a run_started that asks for nothing else.
 */
export function takePreload(config: () => Config, runId: string | null, request: () => Fields): Fields | undefined {
  const delivery = current();
  const bytes = spendPreload();
  if (!delivery || !bytes || !sameService(config(), delivery.config) || !isBareStart(request())) return undefined;
  try {
    const answer = decode(bytes);
    const run = isFields(answer) ? answer['run'] : undefined;
    return isFields(run) && run['runId'] === runId && run['status'] === 'running' ? (answer as Fields) : undefined;
  } catch {
    return undefined; // the service has the answer, too
  }
}

/** The preload of this delivery, for the last time. */
export function spendPreload(): Uint8Array | undefined {
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
  const others = [...Object.values(more), ...Object.values(params as Fields)];
  return eventType === 'run_started' && typeof specVersion === 'number' && others.every((value) => value === undefined);
}
