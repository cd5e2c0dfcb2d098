import { StreamError, WorkflowWorldError } from '../sdk/errors.js';

type Operation = (...args: any[]) => Promise<any>;

/**
 * The same operations with the errors that v5 expects of streams. A general problem of the World becomes a
 * StreamError, which fails a run with the code STREAM_ERROR instead of blaming its author. More specific errors stay.
 */
export function withStreamErrors<T extends Record<keyof T, Operation>>(operations: T): T {
  const wrapped = {} as Record<keyof T, Operation>;
  for (const name of Object.keys(operations) as (keyof T)[]) {
    wrapped[name] = (...args) => operations[name](...args).catch(rethrow);
  }
  return wrapped as T;
}

function rethrow(error: unknown): never {
  if (!(error instanceof WorkflowWorldError) || error.name !== 'WorkflowWorldError') throw error;
  throw new StreamError(error.message, { status: error.status, url: error.url, cause: error });
}
