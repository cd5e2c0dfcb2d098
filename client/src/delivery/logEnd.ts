import type { AsyncLocalStorage } from 'node:async_hooks';
import { PreconditionFailedError } from '../sdk/errors.js';
import { detectSdk } from '../sdk/sdk.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import { processWide } from './processWide.js';

/**
 * Redis copies to its replicas behind the answer, so one that takes over may lack the last events of a run. What the SDK
 * decides on these must not come behind what is left: no replay could explain such a log. So each event says which one
 * of its run's log the SDK was given last in this delivery, and the service answers 412 where that is not there.
 *
 * Events that the SDK has in its memory stay there until it loads the log from the beginning. SDK v5 does so after a 412,
 * and decides anew. v4 adds what it loads to what it has, and sends the same event again, so it gets the same answer for the rest of its
 * delivery; then it has itself called again.
 */
export interface LogEnd {
  /** Counted from 0. */
  position: number;
  /** In epoch milliseconds. */
  createdAt: number;
}

/** A delivery to a handler. */
interface Delivery {
  runId: string;
  /** The last event that the SDK was given. */
  end: LogEnd | undefined;
  /** The log does not have all that the SDK was given. */
  lost: boolean;
  /** The SDK has got a 412 for it. */
  sdkKnows: boolean;
  /** How often it has loaded the log anew since. */
  loads: number;
}

/** After how many seconds a delivery comes again that has ended with a 412. */
const AGAIN_AFTER = 1;

function deliveries(): AsyncLocalStorage<Delivery> {
  return processWide('logEnd', () => {
    // Loaded here and not at import, so that an app that is only being built does not pay for it.
    const { AsyncLocalStorage } = require('node:async_hooks') as typeof import('node:async_hooks');
    return new AsyncLocalStorage();
  });
}

/** Works on a delivery. What comes after its end in the same context, a step that goes on, is still the delivery's. */
export function withLogEnd<T>(message: unknown, work: () => T): T {
  const { runId, workflowRunId } = (message ?? {}) as { runId?: unknown; workflowRunId?: unknown };
  const id = runId ?? workflowRunId;
  if (typeof id !== 'string') return work();
  return deliveries().run({ runId: id, end: undefined, lost: false, sdkKnows: false, loads: 0 }, work);
}

/** A call that writes to the run's log, from here to its answer. */
export interface LogWrite {
  /** To be sent with the call; absent where the SDK was given nothing. */
  readonly end: LogEnd | undefined;
  /** Notes the events that an answer brings. */
  answered(result: unknown): void;
  /** Notes why there is none. */
  failed(error: unknown): void;
}

/** Throws when the SDK must not write, because it was given events that the log does not have. Undefined: the run is not that of the caller's delivery. */
export function beforeWrite(runId: string | null): LogWrite | undefined {
  const delivery = of(runId);
  if (!delivery) return undefined;
  if (delivery.lost) {
    delivery.sdkKnows = true;
    throw new PreconditionFailedError(`Redis has lost events of run ${delivery.runId} that this delivery has seen; it is replayed from what is there`);
  }
  const { end, loads } = delivery;
  return {
    end,
    answered: (result) => noteResult(delivery, result),
    failed: (error) => {
      // One that comes after the SDK has loaded the log anew says nothing of that.
      if (isLogEndRefusal(error) && loads === delivery.loads) delivery.lost = delivery.sdkKnows = true;
    },
  };
}

/** Notes a page of a log, oldest event first. `whole` is one that begins with the first event and has all that follow. */
export function notePage(runId: string, events: unknown[], whole: boolean): void {
  const delivery = of(runId);
  if (!delivery) return;
  if (!whole) {
    note(delivery, events.at(-1));
    return;
  }
  // With the list that follows a cursor's refusal the SDK does not begin anew either: it adds that to what it has.
  if (delivery.lost && (!delivery.sdkKnows || detectSdk() === 'v4')) return;
  delivery.lost = delivery.sdkKnows = false;
  delivery.loads++;
  delivery.end = undefined;
  note(delivery, events.at(-1));
}

/** Notes that the service does not know a cursor of the log: the event that it stands for is gone. */
export function noteRefusedCursor(runId: string, error: unknown): void {
  const delivery = of(runId);
  if (delivery?.end && isRefusedCursor(error)) delivery.lost = true;
}

/** Whether an error of a list says that. */
export function isRefusedCursor(error: unknown): boolean {
  return (error as { status?: unknown } | null | undefined)?.status === 400;
}

/** After how many seconds a delivery has to come again whose handler threw this; undefined: for another reason. */
export function replayWait(error: unknown): number | undefined {
  return isLogEndRefusal(error) ? AGAIN_AFTER : undefined;
}

function isLogEndRefusal(error: unknown): boolean {
  return (error as { name?: unknown } | null | undefined)?.name === 'PreconditionFailedError';
}

function of(runId: string | null): Delivery | undefined {
  const delivery = runId === null ? undefined : deliveries().getStore();
  return delivery?.runId === runId ? delivery : undefined;
}

function noteResult(delivery: Delivery, result: unknown): void {
  if (!isFields(result)) return;
  const { event, events } = result;
  note(delivery, event);
  if (Array.isArray(events)) note(delivery, events.at(-1));
}

function note(delivery: Delivery, event: unknown): void {
  if (!isFields(event)) return;
  const position = positionOf(event);
  const createdAt = Number(event['createdAt']);
  if (position === undefined || !(createdAt > 0) || position < (delivery.end?.position ?? 0)) return;
  delivery.end = { position, createdAt };
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const SLOT = /^evnt_(\d{26})$/;
/** The position is the last four bytes of a ULID, whose last seven digits have five bits each. */
const ULID = /^wevt_[\dA-HJKMNP-TV-Z]{19}([\dA-HJKMNP-TV-Z]{7})$/;

/** Where an event stands in its log, as its id says it (docs/protocol.md, "The end of a log"). */
function positionOf({ eventId }: Fields): number | undefined {
  if (typeof eventId !== 'string') return undefined;
  const slot = SLOT.exec(eventId)?.[1];
  if (slot !== undefined) return Number(slot) - 1;
  const tail = ULID.exec(eventId)?.[1];
  if (tail === undefined) return undefined;
  let bits = 0;
  for (const digit of tail) bits = bits * 32 + DIGITS.indexOf(digit);
  return bits % 2 ** 32;
}
