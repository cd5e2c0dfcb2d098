// Shapes that only SDK v5 can carry.
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

/** Errors of every built-in class, in and out of a workflow and a step; tells what they are in the workflow. */
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
  const back = await sameErrors(errors);
  return back.map((error, i) => ({
    sameClass: error.constructor === errors[i]!.constructor,
    text: `${error}`,
    cause: error.cause === undefined ? undefined : `${error.cause}`,
    inner: error instanceof AggregateError ? error.errors.map(String) : undefined,
    retryAfter: error instanceof RetryableError ? error.retryAfter : undefined,
  }));
}
