import { AsyncLocalStorage } from 'node:async_hooks';
import type { Page } from '../types.js';
import type { Fields } from '../wire/timestamps.js';
import { processWide } from './processWide.js';

/**
 * SDK v5 runs each step of a fan-out in its own delivery. That delivery then reads the whole log and, if no step is
 * open any more, replays the run. A thousand steps would read and decode a thousand logs. And when the last of them
 * end at the same time, each of the dozens in progress finds no step open and replays: a replay of a thousand steps
 * takes up to half a gigabyte, and the app runs out of memory.
 *
 * So within one process, the deliveries of a run that read its log at the same time share one read. Of those that
 * find no step open, the one whose step ended last continues. The others get the log as it was just before that, with
 * its step open, and leave the rest to it, as with any open step: its message is acknowledged only after it has
 * continued, and delivered again if this process dies.
 */
interface StepDelivery {
  runId: string;
  stepId: string;
  /** Only the first read is about open steps. The SDK replays everything that it reads later. */
  hasRead: boolean;
}

interface Reader {
  stepId: string;
  resolve(page: Page): void;
  reject(error: unknown): void;
}

const deliveries = () => processWide('stepDeliveries', () => new AsyncLocalStorage<StepDelivery>());
/** The readers that wait for the next read of a run's log while one is in progress. */
const reading = () => processWide('stepReads', () => new Map<string, Reader[]>());

/** Handles a delivery. If the message is for a step of v5, the delivery is that of the step. */
export function inStepDelivery<T>(message: unknown, handle: () => T): T {
  const { runId, stepId } = (message ?? {}) as Partial<Record<'runId' | 'stepId', unknown>>;
  if (typeof runId !== 'string' || typeof stepId !== 'string') return handle();
  return deliveries().run({ runId, stepId, hasRead: false }, handle);
}

/** Reads the whole log of a run with `read`. Within a delivery of a step, it shares the read with the run's other deliveries. */
export function readTogether(runId: string, read: () => Promise<Page>): Promise<Page> {
  const delivery = deliveries().getStore();
  if (delivery?.runId !== runId || delivery.hasRead) return read();
  delivery.hasRead = true;
  const { stepId } = delivery;
  return new Promise((resolve, reject) => {
    const reader = { stepId, resolve, reject };
    const next = reading().get(runId);
    if (next) next.push(reader);
    else void readFor(runId, [reader], read);
  });
}

/** A reader never gets a read that began before its request, because the log must contain the end of its own step. */
async function readFor(runId: string, first: Reader[], read: () => Promise<Page>): Promise<void> {
  for (let readers = first; readers.length > 0; readers = reading().get(runId) ?? []) {
    reading().set(runId, []);
    try {
      share(await read(), readers);
    } catch (error) {
      for (const reader of readers) reader.reject(error);
    }
  }
  reading().delete(runId);
}

function share(page: Page, readers: Reader[]): void {
  const events = page.data as Fields[];
  const last = noStepOpen(events) ? lastToEnd(events, readers) : undefined;
  const mine = last?.reader ?? readers[0];
  for (const reader of readers) {
    if (reader === mine) continue;
    // These readers only check which steps are open, so the events need not be copied; the arrays belong to the SDK.
    // Without a cursor, the SDK reads the log again if it wants to continue from there.
    reader.resolve(last ? { data: events.slice(0, last.at), cursor: null, hasMore: false } : { ...page, data: [...events] });
  }
  mine?.resolve(page);
}

function noStepOpen(events: Fields[]): boolean {
  const open = new Set<unknown>();
  for (const { eventType, correlationId } of events) {
    if (eventType === 'step_created') open.add(correlationId);
    else if (isEnd(eventType)) open.delete(correlationId);
  }
  return open.size === 0;
}

/** The reader whose step ended last, and the position of that end in the log. */
function lastToEnd(events: Fields[], readers: Reader[]): { reader: Reader; at: number } | undefined {
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at] as Fields;
    const reader = isEnd(event['eventType']) && readers.find(({ stepId }) => stepId === event['correlationId']);
    if (reader) return { reader, at };
  }
  return undefined;
}

function isEnd(eventType: unknown): boolean {
  return eventType === 'step_completed' || eventType === 'step_failed';
}
