import type { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify, types } from 'node:util';
import type { ZlibOptions } from 'node:zlib';
import { detectSdk } from '../sdk/sdk.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import { processWide } from './processWide.js';

/** One execution of a step, as in a write to a stream. */
export interface StepAttempt {
  stepId: string;
  attempt: number;
}

/**
 * SDK v5 opens the streams among a step's arguments outside of the step's context, so the step that writes to them is
 * unknown. But the delivery knows which steps it runs, and their inputs contain the names of these streams. The steps
 * that run when a stream is opened, and have its name in their input, are the possible writers.
 */
interface Delivery {
  steps: Map<string, Started>;
  /**
   * Settled once all running steps are known here: the SDK runs the first steps of a run in parallel with the call
   * that starts the run, and makes the calls for their own start afterwards.
   */
  ready: Promise<unknown> | undefined;
}

interface Started extends StepAttempt {
  input: unknown;
  /** The text that is searched for names, computed when it is needed. */
  text?: Promise<Buffer | undefined>;
}

/** The largest size of a decompressed input. */
const LONGEST_INPUT = 64 * 1024 * 1024;
/** More than the service accepts, and too many to be useful. */
const MOST_WRITERS = 16;

function deliveries(): AsyncLocalStorage<Delivery> {
  return processWide('givenStreams', () => {
    // Loaded here and not at import, so that building an app does not load it.
    const { AsyncLocalStorage } = require('node:async_hooks') as typeof import('node:async_hooks');
    return new AsyncLocalStorage();
  });
}

function current(): Delivery | undefined {
  return detectSdk() === 'v5' ? deliveries().getStore() : undefined;
}

/** Runs a delivery. Its writes may come after its end. */
export function withGivenStreams<T>(work: () => T): T {
  return detectSdk() === 'v5' ? deliveries().run({ steps: new Map(), ready: undefined }, work) : work();
}

/** Records an event that is being created. */
export function noteBegin({ eventType, correlationId: stepId, eventData }: Fields, answer: Promise<unknown>): void {
  const delivery = eventType === 'run_started' || eventType === 'step_started' ? current() : undefined;
  if (!delivery) return;
  if (eventType === 'run_started') {
    // The SDK continues in the same turn in which it gets the answer.
    delivery.ready = answer.then(
      () => nextTurn(),
      () => nextTurn(),
    );
    return;
  }
  const input = isFields(eventData) ? eventData['input'] : undefined;
  if (typeof stepId !== 'string' || input === undefined) return;
  // The SDK may run a step that is created with its input before it has the answer. Such a step is new.
  delivery.steps.set(stepId, { stepId, attempt: 1, input });
  answer.catch(() => delivery.steps.delete(stepId));
}

/** Records that a step of the delivery has started. Its input is that of the event, if the answer has none. */
export function noteGiven(stepId: string, attempt: number, input: unknown): void {
  const delivery = current();
  if (!delivery) return;
  const known = delivery.steps.get(stepId);
  if (known) known.attempt = attempt;
  else if (input !== undefined) delivery.steps.set(stepId, { stepId, attempt, input });
}

/** Records that a step has ended. The streams that it has opened still belong to it. */
export function noteTaken(stepId: string): void {
  current()?.steps.delete(stepId);
}

/**
 * The steps that may be opening a stream at this point, outside of their context; none if that is unknown, as with an
 * encrypted input. It must be called before the caller awaits anything.
 */
export function writersOf(name: string): Promise<StepAttempt[]> | undefined {
  const delivery = current();
  return delivery && findWriters(delivery, JSON.stringify(name), [...delivery.steps.values()]);
}

async function findWriters(delivery: Delivery, name: string, steps: Started[]): Promise<StepAttempt[]> {
  const found = await holdersOf(name, steps);
  if (found.length > 0 || !delivery.ready) return found;
  await delivery.ready;
  return holdersOf(name, [...delivery.steps.values()]);
}

async function holdersOf(name: string, steps: Started[]): Promise<StepAttempt[]> {
  const holders: StepAttempt[] = [];
  for (const step of steps) {
    const { stepId, attempt } = step;
    const text = await (step.text ??= textOf(step.input));
    if (text?.includes(name)) holders.push({ stepId, attempt });
  }
  return holders.length > MOST_WRITERS ? [] : holders;
}

/** The bytes of an input as the SDK wrote them, without its compression of long inputs. */
async function textOf(input: unknown): Promise<Buffer | undefined> {
  if (!types.isUint8Array(input)) return undefined;
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const format = bytes.toString('latin1', 0, 4);
  if (format !== 'gzip' && format !== 'zstd') return bytes;
  const { gunzip, zstdDecompress } = require('node:zlib') as typeof import('node:zlib') & { zstdDecompress: typeof import('node:zlib').gunzip };
  try {
    // Node 20 has no zstd, so the SDK does not use it there.
    return await promisify<Uint8Array, ZlibOptions, Buffer>(format === 'gzip' ? gunzip : zstdDecompress)(bytes.subarray(4), { maxOutputLength: LONGEST_INPUT });
  } catch {
    return undefined;
  }
}
