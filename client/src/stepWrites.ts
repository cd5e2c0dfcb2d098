import { noteDeliveredStep } from './attached.js';
import { WorkflowWorldError } from './errors.js';
import { type Fields, isFields } from './moments.js';
import { processWide } from './processWide.js';
import type { StepExecution } from './stepContext.js';

/** So many steps are remembered; the oldest are forgotten first. */
const MOST_STEPS = 10_000;

/**
 * What happened to the stream writes of the steps of this process. SDK v5 goes on without those that were not awaited: it
 * only logs that they failed, and completes the step. A step whose write was given up must not be completed, so that
 * it runs again.
 */
class StepWrites {
  /** The attempt that runs, of each step that began in this process. */
  readonly #running = new Map<string, number>();
  readonly #givenUp = new Map<string, { attempt: number; error: unknown }>();
  /** Writes that failed and are being tried again. Bounded by the calls under way. */
  readonly #retried = new Map<string, Set<RetriedWrite>>();

  began({ runId, stepId, attempt }: StepExecution): void {
    const key = keyOf(runId, stepId);
    remember(this.#running, key, attempt);
    if ((this.#givenUp.get(key)?.attempt ?? attempt) < attempt) this.#givenUp.delete(key);
  }

  ended(runId: string, stepId: string): void {
    const key = keyOf(runId, stepId);
    this.#running.delete(key);
    this.#givenUp.delete(key);
  }

  /** Notes that a write is being tried again. The caller says how it ends. */
  retried(step: StepExecution): RetriedWrite {
    const key = keyOf(step.runId, step.stepId);
    const writes = this.#retried.get(key) ?? new Set();
    this.#retried.set(key, writes);
    const write = new RetriedWrite(step.attempt, () => {
      writes.delete(write);
      if (writes.size === 0 && this.#retried.get(key) === writes) this.#retried.delete(key);
    });
    writes.add(write);
    return write;
  }

  /** Notes that a write was given up before it was stored. Those of an attempt that is over concern nobody. */
  gaveUp({ runId, stepId, attempt }: StepExecution, error: unknown): void {
    const key = keyOf(runId, stepId);
    if (attempt < (this.#running.get(key) ?? attempt)) return;
    remember(this.#givenUp, key, { attempt, error });
  }

  /**
   * Throws when the step must not be completed. While writes of it are being tried again, the caller has to wait for
   * the promise that is returned, which is rejected then if one of them is given up.
   */
  requireNoneGivenUp(runId: string, stepId: string): Promise<void> | undefined {
    const key = keyOf(runId, stepId);
    const givenUp = this.#givenUp.get(key);
    if (givenUp) throw refusal(stepId, givenUp.error);
    const running = this.#running.get(key) ?? 0;
    const retried = [...(this.#retried.get(key) ?? [])].filter(({ attempt }) => attempt >= running);
    if (retried.length === 0) return undefined;
    return Promise.all(retried.map(({ ended }) => ended)).then(() => this.requireNoneGivenUp(runId, stepId));
  }
}

/** A write that is being tried again. */
export class RetriedWrite {
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

/** The one memory of this process. */
export function stepWrites(): StepWrites {
  return processWide('stepWrites', () => new StepWrites());
}

/** Takes note of what an event that was created says about its step. */
export function noteStepEvent(runId: string | null, event: Fields, result: unknown): void {
  const { eventType, correlationId: stepId } = event;
  if (!runId || typeof stepId !== 'string') return;
  if (eventType === 'step_started') {
    const step = isFields(result) ? result['step'] : undefined;
    const attempt = isFields(step) ? step['attempt'] : undefined;
    if (typeof attempt !== 'number') return;
    stepWrites().began({ runId, stepId, attempt });
    noteDeliveredStep({ runId, stepId, attempt });
  } else if (eventType === 'step_completed' || eventType === 'step_failed' || eventType === 'step_retrying') {
    stepWrites().ended(runId, stepId);
  }
}

/** What has to be asked before an event is written; undefined for all but the completion of a step. */
export function beforeStepEvent(runId: string | null, { eventType, correlationId }: Fields): (() => Promise<void> | undefined) | undefined {
  if (!runId || eventType !== 'step_completed' || typeof correlationId !== 'string') return undefined;
  return () => stepWrites().requireNoneGivenUp(runId, correlationId);
}

/**
 * Both SDKs take a 5xx for trouble that passes: they leave the step as it is, the delivery fails, and the service
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
