// Errors as SDK v5 has them: values of any kind, with their class and cause.
import { FatalError } from 'workflow';

function fatal() {
  return Object.assign(new FatalError('it is over'), { cause: new TypeError('the reason') });
}

const details = () => ({ code: 'E_PLAIN', nested: { list: [1, 'two', null] } });

async function throwFatal() {
  'use step';
  throw fatal();
}

export async function fatalWithCauseCaught() {
  'use workflow';
  try {
    await throwFatal();
  } catch (error) {
    const { name, message, fatal, cause } = error as FatalError & { cause: Error };
    const kinds = [FatalError.is(error), error instanceof FatalError, cause instanceof TypeError];
    return { name, message, fatal, cause: `${cause.name}: ${cause.message}`, kinds };
  }
}

export async function fatalWithCause() {
  'use workflow';
  throw fatal();
}

export async function throwsPlainObject() {
  'use workflow';
  throw details();
}

async function throwDetails() {
  'use step';
  throw details();
}
throwDetails.maxRetries = 0;

export async function stepThrowsPlainObject() {
  'use workflow';
  await throwDetails();
}

class Unserializable {
  secret = () => 1;
}

async function take(value: unknown) {
  'use step';
  return typeof value;
}

async function give(): Promise<unknown> {
  'use step';
  return new Unserializable();
}

const call = (what: 'argument' | 'result') => (what === 'argument' ? take(new Unserializable()) : give());

export async function unserializable(what: 'argument' | 'result') {
  'use workflow';
  await call(what);
}

export async function unserializableCaught(what: 'argument' | 'result') {
  'use workflow';
  try {
    await call(what);
  } catch (error) {
    return (error as Error).name;
  }
}
