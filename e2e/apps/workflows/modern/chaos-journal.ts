// What the chaos harness must know of the executions of steps: each has an id of its own, and says in a file when it begins and ends.
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { getStepMetadata } from 'workflow';

export interface Execution {
  step: string;
  execution: string;
  attempt: number;
  /** Of the process. */
  pid: number;
}

export function begins(): Execution {
  const { stepId, attempt } = getStepMetadata();
  const me = { step: stepId, execution: randomUUID(), attempt, pid: process.pid };
  note(me, 'begins');
  return me;
}

export function ends(me: Execution) {
  note(me, 'ends');
}

/** A run that this step's run has started, and that is not there. */
export function lost(runId: string) {
  const { stepId, attempt } = getStepMetadata();
  note({ step: stepId, execution: runId, attempt, pid: process.pid }, 'lost');
}

function note({ step, execution, attempt, pid }: Execution, what: string) {
  const journal = process.env.CHAOS_JOURNAL;
  if (journal) appendFileSync(journal, `${what} ${step} ${execution} ${attempt} ${pid}\n`);
}

export const after = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));
