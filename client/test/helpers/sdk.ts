/** The SDK generations that the tables try, each with its own copy of the SDK's error classes. */
import assert from 'node:assert/strict';
import type { RedisWorld } from '../../build/index.js';
import { createWorld } from './client.js';

/** What a World looks like to each: v4 mints spec 3, v5 7, or 6 with WORKFLOW_SEALED_LOG=0. */
export const SPECS = [3, 6, 7] as const;
export type Spec = (typeof SPECS)[number];

export const sdkOf = (spec: Spec) => (spec === 3 ? 'v4' : 'v5');

const V5_MARK = Symbol.for('@workflow/world//getWorldFn');

/** A World as this SDK gets it: the client looks at what the SDK leaves behind in the process. */
export async function worldAs(spec: Spec, url: string): Promise<RedisWorld> {
  await copies; // v5's own errors leave the mark of the betas that know slots
  const globals = globalThis as Record<symbol, unknown>;
  if (spec !== 3) globals[V5_MARK] = () => undefined;
  if (spec === 6) process.env['WORKFLOW_SEALED_LOG'] = '0';
  try {
    const world = createWorld({ url, retryForMs: 0, streamRetryForMs: 0 });
    assert.equal(world.specVersion, spec);
    return world;
  } finally {
    delete globals[V5_MARK];
    delete process.env['WORKFLOW_SEALED_LOG'];
  }
}

type ErrorClass = { is(value: unknown): boolean };

const CLASSES = [
  'WorkflowRunNotFoundError',
  'HookNotFoundError',
  'EntityConflictError',
  'RunExpiredError',
  'TooEarlyError',
  'ThrottleError',
  'PreconditionFailedError',
  'RunNotSupportedError',
  'WorkflowWorldError',
] as const;

const copies = Promise.all([import('@workflow/errors'), import('errors-v5')]);

/**
 * Which classes of each SDK's own `@workflow/errors` take this error for theirs. An error of the World is one thing to
 * both SDKs and never two things to one of them, so both lists are one name, or none for a name that only goes by
 * `error.name` (AttributeValidationError).
 */
export async function recognised(error: unknown): Promise<{ v4: string[]; v5: string[] }> {
  const [v4, v5] = (await copies).map((copy) => CLASSES.filter((name) => (copy as unknown as Record<string, ErrorClass>)[name]?.is(error)));
  return { v4: v4 ?? [], v5: v5 ?? [] };
}
