import type { AsyncLocalStorage } from 'node:async_hooks';
import { isDeepStrictEqual, types } from 'node:util';
import { type Config, sameService } from '../config.js';
import { parseQueueName } from '../sdk/queueName.js';
import { detectSdk } from '../sdk/sdk.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import type { Enqueued } from './enqueued.js';
import { processWide } from './processWide.js';

/**
 * SDK v4 follows three of its events with a call of queue() each time, whose arguments are known before it makes it:
 * the end of a step with a wake-up of the run, the creation of a step with the step's message. That call is sent
 * with the event, in one request, and the service makes it once the event is written; when the SDK then calls queue(),
 * its answer is here. That is one way to the service and back less, twice a step, where nothing else goes on.
 *
 * A message that the SDK would not have sent after all does no harm: a wake-up only has the run look at its log, and
 * the message of a step has the step's idempotency key, under which there is one at a time, and finds in the log
 * whether there is something to do. Nor is one of the SDK's own lost: an answer is used once, for a call that is equal,
 * in the delivery in which it was made, and what it stands for was queued after the event that the SDK has just written.
 */

/** A delivery that this process works on. */
interface Delivery {
  kind: string;
  namespace: string | undefined;
  message: Fields;
  /** The delivery's run, as the answer to its run_started has it. */
  run: Fields | undefined;
  /** What has been queued and not yet asked for. */
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

/** What the SDK marks the input of a step with that it creates only to fail it, without a message. */
const NEVER_QUEUED = '__workflowUnserializableStepInput';
/** Such an input is short; a longer one is not looked through. */
const LONGEST_NEVER_QUEUED = 1024;

interface State {
  deliveries: AsyncLocalStorage<Delivery>;
  /** How many steps of a run are under way here. */
  steps: Map<unknown, number>;
  /** Set for good once the SDK turned out to send other messages, such as ones with a trace carrier. */
  off: boolean;
}

function state(): State {
  return processWide('anticipated', () => {
    // Loaded here and not at import, so that an app that is only being built does not pay for it.
    const { AsyncLocalStorage } = require('node:async_hooks') as typeof import('node:async_hooks');
    return { deliveries: new AsyncLocalStorage(), steps: new Map(), off: false };
  });
}

/** Works on a delivery to the handler of a prefix; what is anticipated in there ends with it. */
export async function inDelivery<T>(prefix: string, message: unknown, work: () => Promise<T>): Promise<T> {
  const handler = parseQueueName(prefix);
  if (!handler || !isFields(message) || detectSdk() !== 'v4' || state().off) return work();
  const { kind, namespace } = handler;
  const delivery: Delivery = { kind, namespace, message, run: undefined, open: [], ended: false };
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
    // Every further one would be a message too many.
    if (delivery.open.some(({ passedOver }) => passedOver)) state().off = true;
  }
}

/** What the SDK will queue when this event is written; undefined where that is not known. */
export function anticipated(runId: string | null, event: Fields): Enqueued | undefined {
  const delivery = current();
  if (!delivery || runId === null || event['specVersion'] === undefined) return undefined;
  return delivery.kind === 'step' ? afterStep(delivery, runId, event) : afterCreation(delivery, runId, event);
}

/**
 * The wake-up of the run, when the delivery's step has ended. Not while others of its steps are under way: one that
 * waits for them all would only be woken more often, and each time it asks for every step again that has not ended.
 */
function afterStep({ namespace, message }: Delivery, runId: string, event: Fields): Enqueued | undefined {
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
function afterCreation({ message, run }: Delivery, runId: string, event: Fields): Enqueued | undefined {
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

/** Is called with what an event came to: messages of steps name when their run was started. */
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

/** The answer to a call of queue() that has been made already; undefined: it is to be made. */
export function takeAnticipated(config: Config, wanted: Enqueued): Anticipated['reply'] | undefined {
  const open = current()?.open;
  if (!open || open.length === 0) return undefined;
  const at = open.findIndex((one) => sameService(one.config, config) && isDeepStrictEqual(sentFields(one.enqueued), sentFields(wanted)));
  if (at !== -1) return open.splice(at, 1)[0]?.reply;
  for (const one of open) one.passedOver ||= subject(one.enqueued) === subject(wanted);
  return undefined;
}

function current(): Delivery | undefined {
  const { deliveries, off } = state();
  const delivery = off ? undefined : deliveries.getStore();
  return delivery?.ended ? undefined : delivery;
}

/** All that the service receives, except when the SDK asked for it. */
function sentFields({ queueName, message, options }: Enqueued): unknown[] {
  const { idempotencyKey, delaySeconds, headers = {}, deploymentId, specVersion } = options;
  const content = isFields(message) ? { ...message, requestedAt: undefined } : message;
  return [queueName, content, idempotencyKey, delaySeconds, headers, deploymentId, specVersion];
}

/** The run that a message wakes, or the step that it is for. */
function subject({ message }: Enqueued): unknown {
  return isFields(message) ? (message['stepId'] ?? message['runId']) : undefined;
}
