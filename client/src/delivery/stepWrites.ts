import { setImmediate as nextTurn } from 'node:timers/promises';
import { WorkflowWorldError } from '../sdk/errors.js';
import type { StepExecution } from '../sdk/stepContext.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import { noteGiven, noteTaken } from './givenStreams.js';
import { noteDeliveredStep } from './preload.js';
import { processWide } from './processWide.js';

/** How many steps are remembered; the oldest are forgotten first. */
const MOST_STEPS = 10_000;
/** After how many milliseconds a step is completed that continues to write after it has returned. */
const SETTLE_MS = 10_000;
/** The SDK sends buffered chunks when the previous write has ended: after this many turns of the event loop, nothing more comes. */
const QUIET_TURNS = 2;

/**
 * The results of the stream writes of the steps of this process. SDK v5 continues without writes that were not
 * awaited: it only logs that they failed, and completes the step. A step with an abandoned write must not be
 * completed, so that it runs again. A step with a write in progress must not be completed yet, since the process may
 * end before the write is stored.
 */
class StepWrites {
  /** The running attempt of each step that began in this process. */
  readonly #running = new Map<string, number>();
  readonly #givenUp = new Map<string, { attempt: number; error: unknown }>();
  /** The attempt that wrote last, for each step that has written. */
  readonly #wrote = new Map<string, number>();
  /** Limited by the calls in progress. */
  readonly #underWay = new Map<string, Set<StepWrite>>();

  began({ runId, stepId, attempt }: StepExecution): void {
    const key = keyOf(runId, stepId);
    remember(this.#running, key, attempt);
    if ((this.#givenUp.get(key)?.attempt ?? attempt) < attempt) this.#givenUp.delete(key);
  }

  ended(runId: string, stepId: string): void {
    const key = keyOf(runId, stepId);
    this.#running.delete(key);
    this.#givenUp.delete(key);
    this.#wrote.delete(key);
  }

  /** Records that a write, or a close, is in progress. The caller reports its end. */
  writes(step: StepExecution): StepWrite {
    const key = keyOf(step.runId, step.stepId);
    if (this.#wrote.get(key) !== step.attempt) remember(this.#wrote, key, step.attempt);
    const writes = this.#underWay.get(key) ?? new Set();
    this.#underWay.set(key, writes);
    const write = new StepWrite(step.attempt, () => {
      writes.delete(write);
      if (writes.size === 0 && this.#underWay.get(key) === writes) this.#underWay.delete(key);
    });
    writes.add(write);
    return write;
  }

  /** Records that a write was abandoned before it was stored. Writes of an earlier attempt are ignored. */
  gaveUp({ runId, stepId, attempt }: StepExecution, error: unknown): void {
    const key = keyOf(runId, stepId);
    if (attempt < (this.#running.get(key) ?? attempt)) return;
    remember(this.#givenUp, key, { attempt, error });
  }

  /**
   * Throws if the step must not be completed. If it has written, the caller waits for the returned promise until its
   * writes are stored; it is rejected if one of them is abandoned.
   */
  requireAllStored(runId: string, stepId: string): Promise<void> | undefined {
    const key = keyOf(runId, stepId);
    this.#requireNoneGivenUp(key, stepId);
    return this.#wrote.has(key) ? this.#settled(key, stepId) : undefined;
  }

  #requireNoneGivenUp(key: string, stepId: string): void {
    const givenUp = this.#givenUp.get(key);
    if (givenUp) throw refusal(stepId, givenUp.error);
  }

  async #settled(key: string, stepId: string): Promise<void> {
    const until = Date.now() + SETTLE_MS;
    for (let quiet = 0; quiet < QUIET_TURNS; ) {
      const late = Date.now() > until;
      const running = this.#running.get(key) ?? 0;
      const waited = [...(this.#underWay.get(key) ?? [])].filter(({ attempt, failed }) => attempt >= running && (failed || !late));
      if (waited.length > 0) {
        quiet = 0;
        await Promise.all(waited.map(({ ended }) => ended));
      } else if (late) {
        break;
      } else {
        quiet++;
        await nextTurn();
      }
    }
    this.#requireNoneGivenUp(key, stepId);
  }
}

/** A write in progress. */
class StepWrite {
  /** It is being retried. */
  failed = false;
  readonly ended: Promise<void>;
  readonly #end: () => void;

  constructor(
    readonly attempt: number,
    forget: () => void,
  ) {
    let end = () => {};
    this.ended = new Promise((resolve) => (end = resolve));
    this.#end = () => {
      forget();
      end();
    };
  }

  end(): void {
    this.#end();
  }
}

/** The one instance of this process. */
export function stepWrites(): StepWrites {
  return processWide('stepWrites', () => new StepWrites());
}

/** Records what a created event says about its step. `input` is the step's, if the answer has none. */
export function noteStepEvent(runId: string | null, event: Fields, result: unknown, input?: unknown): void {
  const { eventType, correlationId: stepId } = event;
  if (!runId || typeof stepId !== 'string') return;
  if (eventType === 'step_started') {
    const step = isFields(result) ? result['step'] : undefined;
    const attempt = isFields(step) ? step['attempt'] : undefined;
    if (!isFields(step) || typeof attempt !== 'number') return;
    stepWrites().began({ runId, stepId, attempt });
    noteDeliveredStep({ runId, stepId, attempt });
    noteGiven(stepId, attempt, step['input'] ?? input);
  } else if (eventType === 'step_completed' || eventType === 'step_failed' || eventType === 'step_retrying') {
    stepWrites().ended(runId, stepId);
    noteTaken(stepId);
  }
}

/** The check before an event is written; undefined for all but the completion of a step. */
export function beforeStepEvent(runId: string | null, { eventType, correlationId }: Fields): (() => Promise<void> | undefined) | undefined {
  if (!runId || eventType !== 'step_completed' || typeof correlationId !== 'string') return undefined;
  return () => stepWrites().requireAllStored(runId, correlationId);
}

/**
 * Both SDKs treat a 5xx as a temporary problem: they leave the step as it is, the delivery fails, and the service
 * delivers its message again.
 */
function refusal(stepId: string, cause: unknown): WorkflowWorldError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `A write to a stream by step ${stepId} was given up, so the step is not completed and runs again: ${reason}`;
  return new WorkflowWorldError(message, { status: 503, code: 'STREAM_WRITE_GIVEN_UP', cause });
}

function keyOf(runId: string, stepId: string): string {
  return `${runId}/${stepId}`;
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MOST_STEPS) return;
    map.delete(oldest);
  }
}
