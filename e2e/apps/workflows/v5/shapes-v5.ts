// Shapes that only SDK v5 can carry.
import { WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from '@workflow/serde';
import { FatalError, RetryableError } from 'workflow';
import { start } from 'workflow/api';

async function double(n: number) {
  'use step';
  return n * 2;
}

export async function appliesStep(step: (n: number) => Promise<number>, n: number) {
  'use workflow';
  const once = await step(n);
  return { once, twice: await step(once) };
}

/** A step as the argument of a run, which is called here, too. */
export async function stepToRun(n: number) {
  'use workflow';
  return { here: await double(n), ...(await (await start(appliesStep, [double, n])).returnValue) };
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
    Object.assign(new FatalError('fatal'), { cause }),
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

/** Getters that are steps. */
export class Box {
  constructor(
    public width: number,
    public height: number,
  ) {}

  static [WORKFLOW_SERIALIZE]({ width, height }: Box) {
    return { width, height };
  }

  static [WORKFLOW_DESERIALIZE]({ width, height }: { width: number; height: number }) {
    return new Box(width, height);
  }

  get area(): Promise<number> {
    'use step';
    return Promise.resolve(this.width * this.height);
  }

  get around(): Promise<number> {
    'use step';
    return Promise.resolve(2 * (this.width + this.height));
  }
}

export async function getters() {
  'use workflow';
  return [await new Box(3, 5).area, await new Box(4, 7).around, await new Box(10, 20).area];
}
