import assert from 'node:assert/strict';
import { test } from 'node:test';
import { part } from './helpers/client.js';

const { errorFromWire } = part<typeof import('../build/wire/wireError.js')>('wire/wireError');
const { transportError } = part<typeof import('../build/transport/transportError.js')>('transport/transportError');

/** What the SDK looks at: it tells errors apart by name and fields, never by class. */
function face(error: Error): Record<string, unknown> {
  const { name, message } = error;
  return { ...error, name, message };
}

const refusal = { status: 400, url: 'http://w/v1/x', retryAfter: undefined };

test('every error class is rebuilt by its name with its fields', () => {
  const cases: [Record<string, unknown>, Record<string, unknown>][] = [
    [
      { name: 'EntityConflictError', message: 'exists', status: 409, code: 'conflict' },
      { name: 'EntityConflictError', message: 'exists' },
    ],
    [
      { name: 'RunExpiredError', message: 'over', status: 410, code: 'run_expired' },
      { name: 'RunExpiredError', message: 'over' },
    ],
    [
      { name: 'TooEarlyError', message: 'wait', status: 425, retryAfter: 7 },
      { name: 'TooEarlyError', message: 'wait', retryAfter: 7 },
    ],
    [
      { name: 'ThrottleError', message: 'slow', status: 429, retryAfter: 2 },
      { name: 'ThrottleError', message: 'slow', retryAfter: 2 },
    ],
    [
      { name: 'PreconditionFailedError', message: 'stale', status: 412 },
      { name: 'PreconditionFailedError', message: 'stale', status: 412 },
    ],
    [
      { name: 'WorkflowRunNotFoundError', message: 'x', status: 404, runId: 'wrun_1' },
      { name: 'WorkflowRunNotFoundError', message: 'Workflow run "wrun_1" not found', runId: 'wrun_1' },
    ],
    [
      { name: 'HookNotFoundError', message: 'x', status: 404, token: 'tok' },
      { name: 'HookNotFoundError', message: 'Hook not found', token: 'tok' },
    ],
    [
      { name: 'WorkflowWorldError', message: 'Step "s" not found', status: 404, code: 'step_not_found' },
      {
        name: 'WorkflowWorldError',
        message: 'Step "s" not found',
        status: 404,
        code: 'step_not_found',
        url: refusal.url,
      },
    ],
    [
      { name: 'AttributeValidationError', message: 'key too long', status: 400 },
      { name: 'AttributeValidationError', message: 'key too long' },
    ],
  ];
  for (const [wire, expected] of cases) assert.deepEqual(face(errorFromWire(wire, refusal)), expected);
  const unsupported = errorFromWire({ name: 'RunNotSupportedError', message: 'x', runSpecVersion: 9, worldSpecVersion: 7 }, refusal);
  assert.equal(unsupported.name, 'RunNotSupportedError');
  assert.deepEqual({ ...unsupported }, { ...unsupported, runSpecVersion: 9, worldSpecVersion: 7 });
});

test('a name that is not a World error is never rebuilt', () => {
  const error = errorFromWire({ name: 'FatalError', message: 'm', status: 500, code: 'internal' }, refusal);
  assert.deepEqual(face(error), {
    name: 'WorkflowWorldError',
    message: 'm',
    status: 500,
    code: 'internal',
    url: refusal.url,
  });
});

test('an answer without a reason goes by its status; a bare 404 asks whether the address is right', () => {
  const names = [409, 410, 412, 425, 429, 503].map((status) => errorFromWire(undefined, { ...refusal, status, retryAfter: 3 }).name);
  assert.deepEqual(names, ['EntityConflictError', 'RunExpiredError', 'PreconditionFailedError', 'TooEarlyError', 'ThrottleError', 'WorkflowWorldError']);
  const missing = errorFromWire(undefined, { ...refusal, status: 404 });
  assert.equal(missing.name, 'WorkflowWorldError');
  assert.match(missing.message, /WORKFLOW_WORLD_URL/);
});

test('a call without an answer is TRANSPORT, a silent one TIMEOUT, both with the URL', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const error = transportError(refused, 'http://w/v1/x');
  assert.equal(error.code, 'TRANSPORT');
  assert.equal(error.status, undefined);
  assert.equal(error.cause, refused);
  assert.match(error.message, /^http:\/\/w\/v1\/x could not be reached: .*Is world-redis running/);
  const slow = Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' });
  assert.equal(transportError(slow, 'http://w').code, 'TIMEOUT');
});
