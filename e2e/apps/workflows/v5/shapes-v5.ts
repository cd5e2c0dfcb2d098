// Shapes that only SDK v5 can carry.
import { WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from '@workflow/serde';
import { RetryableError } from 'workflow';
import { start } from 'workflow/api';

async function double(n: number) {
  'use step';
  return n * 2;
}

export async function appliesStep(step: (n: number) => Promise<number>, n: number) {
  'use workflow';
  const once = await step(n);
  return { input: n, once, twice: await step(once) };
}

/** A step as the argument of a run. */
export async function stepToRun(n: number) {
  'use workflow';
  return await (await start(appliesStep, [double, n])).returnValue;
}

async function sameErrors(errors: Error[]) {
  'use step';
  return errors;
}

export async function errorsThrough(errors: Error[]) {
  'use workflow';
  return await sameErrors(errors);
}

/** Errors of every built-in class into a run, through its step and back; tells what they are then. */
export async function errorsAround() {
  'use workflow';
  const cause = new TypeError('the cause');
  const errors = [
    new Error('plain', { cause }),
    new TypeError('type', { cause }),
    new RangeError('range', { cause }),
    new SyntaxError('syntax', { cause }),
    new ReferenceError('reference', { cause }),
    new EvalError('eval', { cause }),
    new URIError('uri', { cause }),
    new AggregateError([new Error('inner'), cause], 'aggregate', { cause }),
    new RetryableError('retryable', { retryAfter: new Date(86_400_000) }),
  ];
  const back = await (await start(errorsThrough, [errors])).returnValue;
  return back.map((error, i) => ({
    sameClass: error.constructor === errors[i]!.constructor,
    text: `${error}`,
    cause: error.cause === undefined ? undefined : `${error.cause}`,
    inner: error instanceof AggregateError ? error.errors.map(String) : undefined,
    retryAfter: error instanceof RetryableError ? error.retryAfter : undefined,
  }));
}

export class Square {
  constructor(public side: number) {}

  static [WORKFLOW_SERIALIZE]({ side }: Square) {
    return { side };
  }

  static [WORKFLOW_DESERIALIZE]({ side }: { side: number }) {
    return new Square(side);
  }

  get area(): Promise<number> {
    'use step';
    return Promise.resolve(this.side ** 2);
  }
}

/** Getters that are steps. */
export async function getters() {
  'use workflow';
  return [await new Square(3).area, await new Square(10).area];
}
