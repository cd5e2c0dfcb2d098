/** Asserts how a call fails. */
import assert from 'node:assert/strict';
import { recognised } from './sdk.js';

/**
 * The call is refused with these fields (a pattern is matched), and the `.is()` of each SDK's own error class of that
 * name, and of no other, takes the error for its own. Returns the error.
 */
export async function refused(call: Promise<unknown>, expected: { name: string; [field: string]: unknown }): Promise<any> {
  const error: any = await call.then(
    (value) => assert.fail(`was taken: ${JSON.stringify(value)}`),
    (caught: Error) => caught,
  );
  for (const [field, value] of Object.entries(expected)) {
    const actual = error[field];
    if (value instanceof RegExp) assert.match(String(actual), value);
    else assert.deepEqual(actual, value, `${field} of ${error.name}: ${error.message}`);
  }
  // The SDK has no class for this one; it looks at the name.
  const names = expected.name === 'AttributeValidationError' ? [] : [expected.name];
  assert.deepEqual(await recognised(error), { v4: names, v5: names });
  return error;
}

const PASSING_CODES = ['TRANSPORT', 'TIMEOUT', 'STREAM_ERROR'];

/** Whether the SDK delivers the message again after such an error, instead of failing the run (core, both generations). */
export function isRetryable({ name, status, code }: { name: string; status?: number; code?: string }): boolean {
  if (name === 'ThrottleError') return true;
  if (name !== 'WorkflowWorldError') return false;
  return (status !== undefined && status >= 500) || (code !== undefined && PASSING_CODES.includes(code));
}
