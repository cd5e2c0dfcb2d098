import type { AsyncLocalStorage } from 'node:async_hooks';
import { isDeepStrictEqual, types } from 'node:util';
import { type Config, sameService } from '../config.js';
import { parseQueueName } from '../sdk/queueName.js';
import { detectSdk } from '../sdk/sdk.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import type { Enqueued } from './enqueued.js';
import { processWide } from './processWide.js';

/**
 * After three of its events, SDK v4 always calls queue(), with arguments that are known in advance: the end of a step
 * is followed by a wake-up of the run, and the creation of a step by the step's message. The client sends that call
 * with the event, as its `then` (docs/protocol.md), in one request, and the service makes it once the event is
 * written. When the SDK then calls queue(), the answer is already here. This saves a round trip to the service twice
 * per step, while nothing else is in progress.
 *
 * A message that the SDK would not have sent does no harm. A wake-up only makes the run read its log. A step's
 * message has the step's idempotency key, so there is only one at a time, and the log says whether there is anything
 * to do. No message of the SDK is lost either: an answer is used once, for an equal call in the same delivery, and
 * its message was queued after the event that the SDK has just written.
 */

/** A delivery in progress in this process, and its anticipated messages. */
interface AnticipatingDelivery {
  kind: string;
  namespace: string | undefined;
  message: Fields;
  /** The delivery's run, from the answer to its run_started. */
  run: Fields | undefined;
  /** Queued messages that the SDK has not asked for yet. */
  open: Anticipated[];
  ended: boolean;
}

interface Anticipated {
  config: Config;
  enqueued: Enqueued;
  reply: { messageId: string | null };
  /** Another message about the same run or step was queued while this one was open. */
  passedOver: boolean;
}

/** The SDK's mark in the input of a step that it creates only to fail it, without a message. */
const NEVER_QUEUED = '__workflowUnserializableStepInput';
/** Such an input is short; a longer one is not searched. */
const LONGEST_NEVER_QUEUED = 1024;

interface State {
  deliveries: AsyncLocalStorage<AnticipatingDelivery>;
  /** How many steps of a run are in progress in this process. */
  steps: Map<unknown, number>;
  /** Set permanently once the SDK sent other messages than expected, such as ones with a trace carrier. */
  off: boolean;
}

function state(): State {
  return processWide('anticipated', () => {
    // Loaded here and not at import, so that building an app does not load it.
    const { AsyncLocalStorage } = require('node:async_hooks') as typeof import('node:async_hooks');
    return { deliveries: new AsyncLocalStorage(), steps: new Map(), off: false };
  });
}

/** Runs a delivery to the handler of a prefix. Its anticipated messages end with it. */
export async function inDelivery<T>(prefix: string, message: unknown, work: () => Promise<T>): Promise<T> {
  const handler = parseQueueName(prefix);
  if (!handler || !isFields(message) || detectSdk() !== 'v4' || state().off) return work();
  const { kind, namespace } = handler;
  const delivery: AnticipatingDelivery = { kind, namespace, message, run: undefined, open: [], ended: false };
  const { deliveries, steps } = state();
  const runId = kind === 'step' ? message['workflowRunId'] : undefined;
  if (runId !== undefined) steps.set(runId, (steps.get(runId) ?? 0) + 1);
  try {
    return await deliveries.run(delivery, work);
  } finally {
    delivery.ended = true;
    const others = (steps.get(runId) ?? 1) - 1;
    if (others > 0) steps.set(runId, others);
    else steps.delete(runId);
    // Every further one would be an unnecessary message.
    if (delivery.open.some(({ passedOver }) => passedOver)) state().off = true;
  }
}

/** The message that the SDK will queue when this event is written; undefined if that is not known. */
export function anticipated(runId: string | null, event: Fields): Enqueued | undefined {
  const delivery = current();
  if (!delivery || runId === null || event['specVersion'] === undefined) return undefined;
  return delivery.kind === 'step' ? afterStep(delivery, runId, event) : afterCreation(delivery, runId, event);
}

/**
 * The wake-up of the run after the end of the delivery's step, unless other steps of the run are in progress. A run
 * that waits for all of them would only be woken more often, and each time it requests every step again that has not
 * ended.
 */
function afterStep({ namespace, message }: AnticipatingDelivery, runId: string, event: Fields): Enqueued | undefined {
  const { workflowRunId, workflowName, stepId } = message;
  const ends = event['eventType'] === 'step_completed' || event['eventType'] === 'step_failed';
  if (!ends || (state().steps.get(runId) ?? 0) > 1) return undefined;
  if (workflowRunId !== runId || stepId !== event['correlationId'] || typeof workflowName !== 'string') return undefined;
  return {
    queueName: `__${namespace === undefined ? '' : `${namespace}_`}wkf_workflow_${workflowName}`,
    message: { runId, traceCarrier: {}, requestedAt: new Date() },
    options: {},
  };
}

/** The message of a step that the delivery's run has created. */
function afterCreation({ message, run }: AnticipatingDelivery, runId: string, event: Fields): Enqueued | undefined {
  const { eventType, correlationId: stepId, eventData } = event;
  if (eventType !== 'step_created' || message['runId'] !== runId || !run || typeof stepId !== 'string') return undefined;
  if (!isFields(eventData) || typeof eventData['stepName'] !== 'string' || neverQueued(eventData['input'])) return undefined;
  return {
    queueName: `__wkf_step_${eventData['stepName']}`,
    message: {
      workflowName: run['workflowName'],
      workflowRunId: runId,
      workflowStartedAt: Number(run['startedAt']),
      stepId,
      traceCarrier: {},
      requestedAt: new Date(),
    },
    options: { idempotencyKey: stepId, headers: {} },
  };
}

function neverQueued(input: unknown): boolean {
  if (!types.isUint8Array(input) || input.byteLength > LONGEST_NEVER_QUEUED) return false;
  return Buffer.from(input.buffer, input.byteOffset, input.byteLength).includes(NEVER_QUEUED);
}

/** Is called with the result of an event: the messages of steps contain the start time of their run. */
export function noteRun(runId: string | null, event: Fields, result: unknown): void {
  const delivery = current();
  if (!delivery || event['eventType'] !== 'run_started' || delivery.message['runId'] !== runId || !isFields(result)) return;
  const { run } = result;
  if (isFields(run) && types.isDate(run['startedAt'])) delivery.run = run;
}

/** Keeps the answer to a message until the SDK asks for it. */
export function keepAnticipated(config: Config, enqueued: Enqueued, reply: Anticipated['reply']): void {
  current()?.open.push({ config, enqueued, reply, passedOver: false });
}

/** The answer to a call of queue() that was already made; undefined if it has to be made. */
export function takeAnticipated(config: Config, wanted: Enqueued): Anticipated['reply'] | undefined {
  const open = current()?.open;
  if (!open || open.length === 0) return undefined;
  const at = open.findIndex((one) => sameService(one.config, config) && isDeepStrictEqual(sentFields(one.enqueued), sentFields(wanted)));
  if (at !== -1) return open.splice(at, 1)[0]?.reply;
  for (const one of open) one.passedOver ||= subject(one.enqueued) === subject(wanted);
  return undefined;
}

function current(): AnticipatingDelivery | undefined {
  const { deliveries, off } = state();
  const delivery = off ? undefined : deliveries.getStore();
  return delivery?.ended ? undefined : delivery;
}

/** The fields that the service receives, except the time of the SDK's request. */
function sentFields({ queueName, message, options }: Enqueued): unknown[] {
  const { idempotencyKey, delaySeconds, headers = {}, deploymentId, specVersion } = options;
  const content = isFields(message) ? { ...message, requestedAt: undefined } : message;
  return [queueName, content, idempotencyKey, delaySeconds, headers, deploymentId, specVersion];
}

/** The run that a message wakes, or the step that it is for. */
function subject({ message }: Enqueued): unknown {
  return isFields(message) ? (message['stepId'] ?? message['runId']) : undefined;
}
