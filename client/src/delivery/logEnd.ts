import type { AsyncLocalStorage } from 'node:async_hooks';
import { PreconditionFailedError } from '../sdk/errors.js';
import { detectSdk } from '../sdk/sdk.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import { processWide } from './processWide.js';

/**
 * Redis replicates after it has answered, so a replica that takes over may lack the last events of a run. The SDK's
 * decisions on those events must not be appended to the remaining ones, because no replay could explain such a log.
 * So each event names the last event of its run's log that the SDK received in this delivery, and the service answers
 * 412 if the log does not have it.
 *
 * The SDK keeps events in memory until it loads the log from the beginning. SDK v5 does so after a 412, and decides
 * again. v4 adds what it loads to what it has, and sends the same event again, so it gets the same answer for the
 * rest of its delivery. Then it requests another delivery.
 */
export interface LogEnd {
  /** Counted from 0. */
  position: number;
  /** In epoch milliseconds. */
  createdAt: number;
}

/** What the SDK has received of the log of the run of a delivery. */
interface DeliveryLog {
  runId: string;
  /** The last event that the SDK received. */
  end: LogEnd | undefined;
  /** The log lacks events that the SDK received. */
  lost: boolean;
  /** The SDK has received a 412 for that. */
  sdkKnows: boolean;
  /** How often it has loaded the log again since. */
  loads: number;
}

/** The delay, in seconds, before a delivery that ended with a 412 is repeated. */
const AGAIN_AFTER = 1;

function deliveries(): AsyncLocalStorage<DeliveryLog> {
  return processWide('logEnd', () => {
    // Loaded here and not at import, so that building an app does not load it.
    const { AsyncLocalStorage } = require('node:async_hooks') as typeof import('node:async_hooks');
    return new AsyncLocalStorage();
  });
}

/** Runs a delivery. Work that continues after its end in the same context, such as a step, still belongs to it. */
export function withLogEnd<T>(message: unknown, work: () => T): T {
  const { runId, workflowRunId } = (message ?? {}) as { runId?: unknown; workflowRunId?: unknown };
  const id = runId ?? workflowRunId;
  if (typeof id !== 'string') return work();
  return deliveries().run({ runId: id, end: undefined, lost: false, sdkKnows: false, loads: 0 }, work);
}

/** A call that writes to the run's log, until its answer. */
export interface LogWrite {
  /** To be sent with the call; undefined if the SDK received no event. */
  readonly end: LogEnd | undefined;
  /** Records the events in an answer. */
  answered(result: unknown): void;
  /** Records why there is no answer. */
  failed(error: unknown): void;
}

/** Throws if the SDK must not write, because it received events that the log does not have. Returns undefined if the caller's delivery is for another run. */
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
      // A refusal from before the SDK loaded the log again says nothing about that.
      if (isLogEndRefusal(error) && loads === delivery.loads) delivery.lost = delivery.sdkKnows = true;
    },
  };
}

/** Records a page of a log, oldest event first. `whole` means that it begins with the first event and has all that follow. */
export function notePage(runId: string, events: unknown[], whole: boolean): void {
  const delivery = of(runId);
  if (!delivery) return;
  if (!whole) {
    note(delivery, events.at(-1));
    return;
  }
  // After a refused cursor, the following list does not reset the SDK either: it adds the list to what it has.
  if (delivery.lost && (!delivery.sdkKnows || detectSdk() === 'v4')) return;
  delivery.lost = delivery.sdkKnows = false;
  delivery.loads++;
  delivery.end = undefined;
  note(delivery, events.at(-1));
}

/** Records that the service does not know a cursor of the log: the cursor's event is gone. */
export function noteRefusedCursor(runId: string, error: unknown): void {
  const delivery = of(runId);
  if (delivery?.end && isRefusedCursor(error)) delivery.lost = true;
}

/** Whether an error of a list says that. */
export function isRefusedCursor(error: unknown): boolean {
  return (error as { status?: unknown } | null | undefined)?.status === 400;
}

/** The delay in seconds before a delivery is repeated whose handler threw this error; undefined if the reason is another one. */
export function replayWait(error: unknown): number | undefined {
  return isLogEndRefusal(error) ? AGAIN_AFTER : undefined;
}

function isLogEndRefusal(error: unknown): boolean {
  return (error as { name?: unknown } | null | undefined)?.name === 'PreconditionFailedError';
}

function of(runId: string | null): DeliveryLog | undefined {
  const delivery = runId === null ? undefined : deliveries().getStore();
  return delivery?.runId === runId ? delivery : undefined;
}

function noteResult(delivery: DeliveryLog, result: unknown): void {
  if (!isFields(result)) return;
  const { event, events } = result;
  note(delivery, event);
  if (Array.isArray(events)) note(delivery, events.at(-1));
}

function note(delivery: DeliveryLog, event: unknown): void {
  if (!isFields(event)) return;
  const position = positionOf(event);
  const createdAt = Number(event['createdAt']);
  if (position === undefined || !(createdAt > 0) || position < (delivery.end?.position ?? 0)) return;
  delivery.end = { position, createdAt };
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const SLOT = /^evnt_(\d{26})$/;
/** The position is the last four bytes of a ULID. Its last seven digits have five bits each. */
const ULID = /^wevt_[\dA-HJKMNP-TV-Z]{19}([\dA-HJKMNP-TV-Z]{7})$/;

/** The position of an event in its log, from its id (docs/protocol.md, "The end of a log"). */
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
