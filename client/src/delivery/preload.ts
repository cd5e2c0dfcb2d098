import type { AsyncLocalStorage } from 'node:async_hooks';
import { type Config, sameService } from '../config.js';
import { detectSdk } from '../sdk/sdk.js';
import type { StepExecution } from '../sdk/stepContext.js';
import { decode } from '../wire/encoding.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import { processWide } from './processWide.js';
import { PRELOAD_HEADER } from './signature.js';

/**
 * For a wake-up, SDK v4 first calls run_started. For a running run this changes nothing: it only returns the run and
 * its log. The service preloads that answer: it reads it just before the wake-up and sends both in one delivery, and
 * the client answers the call from it.
 *
 * A change after the read has the same effect as a change after the call: a write to the log is followed by a wake-up
 * of the run, which is not merged into one in delivery. A write after the end of the run is refused.
 */

/** The events whose answers the service may preload for this app. */
export function preloadable(config: Config): string[] {
  return detectSdk() === 'v4' && taken(config) ? ['run_started'] : [];
}

/** Whether this app uses the preload of a delivery. */
function taken(config: Config): boolean {
  return config.fastPaths.has('preload') && trusted(config);
}

/**
 * Whether a preload can be trusted: a forged one would change a run's history. Without a key it cannot be verified,
 * and an app in production then asks the service as usual.
 */
function trusted({ signingKeys, tokens }: Config): boolean {
  return signingKeys.length > 0 || tokens.length > 0 || process.env['NODE_ENV'] !== 'production';
}

/** A delivery with its preload. */
interface PreloadedDelivery {
  config: Config;
  /** Still encoded, so that each caller gets its own copy; undefined once an event was created. */
  bytes: Uint8Array | undefined;
  /** The step that this delivery runs; in v4 there is at most one. */
  step?: StepExecution;
}

function deliveries(): AsyncLocalStorage<PreloadedDelivery> {
  return processWide('preload', () => {
    // Loaded here and not at import, so that building an app does not load it.
    const { AsyncLocalStorage } = require('node:async_hooks') as typeof import('node:async_hooks');
    return new AsyncLocalStorage();
  });
}

/** Splits the body of a delivery into message and preload; undefined if it does not match the header. */
export function splitBody(headers: Headers, body: Uint8Array): { message: Uint8Array; preload?: Uint8Array } | undefined {
  const length = headers.get(PRELOAD_HEADER);
  if (length === null) return { message: body };
  const at = /^[1-9]\d{0,8}$/.test(length) ? body.byteLength - Number(length) : 0;
  return at > 0 ? { message: body.subarray(0, at), preload: body.subarray(at) } : undefined;
}

/** Runs a delivery. Its preload ends with it. */
export async function withPreload<T>(config: Config, bytes: Uint8Array | undefined, work: () => Promise<T>): Promise<T> {
  if (detectSdk() !== 'v4') return work();
  const delivery: PreloadedDelivery = { config, bytes: taken(config) ? bytes : undefined };
  try {
    return await deliveries().run(delivery, work);
  } finally {
    delivery.bytes = undefined;
  }
}

/**
 * The answer to an event that is about to be created, decoded but not revived; undefined if there is none. It is used
 * only for the first event of the delivery, and only for a run_started without other parameters.
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

/** Returns and removes the preload of this delivery. */
export function spendPreload(): Uint8Array | undefined {
  const delivery = current();
  const bytes = delivery?.bytes;
  if (delivery) delivery.bytes = undefined;
  return bytes;
}

/** Records that the delivery has started a step. */
export function noteDeliveredStep(step: StepExecution): void {
  const delivery = current();
  if (delivery) delivery.step = step;
}

/** The step that the caller's delivery runs, in a process with SDK v4. */
export function deliveredStep(): StepExecution | undefined {
  return current()?.step;
}

function current(): PreloadedDelivery | undefined {
  return detectSdk() === 'v4' ? deliveries().getStore() : undefined;
}

/** Whether the body of events.create says only that the run starts. */
function isBareStart({ event, params }: Fields): boolean {
  const { eventType, specVersion, ...more } = event as Fields;
  const others = [...Object.values(more), ...Object.values(params as Fields)];
  return eventType === 'run_started' && typeof specVersion === 'number' && others.every((value) => value === undefined);
}
