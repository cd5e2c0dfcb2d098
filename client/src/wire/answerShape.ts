import { WorkflowWorldError } from '../sdk/errors.js';

/** The list under a key of an answer. For any other answer it throws an error that names the call, instead of a TypeError in the caller. */
export function listIn<T = unknown>(answer: unknown, key: string, url: string): T[] {
  const list = (answer as Record<string, unknown> | null | undefined)?.[key];
  if (Array.isArray(list)) return list as T[];
  throw new WorkflowWorldError(`${url} answered with something that is not an answer of world-redis: it has no list "${key}"`, { status: 502, url });
}
