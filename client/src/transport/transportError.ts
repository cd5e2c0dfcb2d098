import { WorkflowWorldError } from '../sdk/errors.js';

const TIMEOUTS = new Set(['ETIMEDOUT']);
const NOBODY_LISTENS = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ECONNTIMEOUT']);

/**
 * The error of a call without an answer. Its codes are those that the SDK treats as temporary problems: `TIMEOUT` if
 * the service was silent for too long, `TRANSPORT` for everything else.
 */
export function transportError(cause: unknown, url: string): WorkflowWorldError {
  if (cause instanceof WorkflowWorldError) return cause;
  const code = causeCode(cause);
  if (TIMEOUTS.has(code)) {
    return new WorkflowWorldError(`${url} did not answer in time`, { code: 'TIMEOUT', url, cause });
  }
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : code || String(cause);
  const hint = NOBODY_LISTENS.has(code) ? ' Is world-redis running, and is WORKFLOW_WORLD_URL its address?' : '';
  return new WorkflowWorldError(`${url} could not be reached: ${reason}.${hint}`, { code: 'TRANSPORT', url, cause });
}

function causeCode(cause: unknown): string {
  // If a name has several addresses, Node wraps their errors in one.
  const inner = cause instanceof AggregateError && cause.errors.length > 0 ? (cause.errors[0] as unknown) : cause;
  const code = (inner as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
}
