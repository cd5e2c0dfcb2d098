import {
  AttributeValidationError,
  EntityConflictError,
  HookNotFoundError,
  PreconditionFailedError,
  RunExpiredError,
  RunNotSupportedError,
  StreamExpiredError,
  ThrottleError,
  TooEarlyError,
  WorkflowRunNotFoundError,
  WorkflowWorldError,
} from '../sdk/errors.js';

/** The `error` object of the service's refusal. None of its fields is guaranteed. */
export interface WireError {
  name?: unknown;
  message?: unknown;
  status?: unknown;
  code?: unknown;
  retryAfter?: unknown;
  runId?: unknown;
  token?: unknown;
  runSpecVersion?: unknown;
  worldSpecVersion?: unknown;
  /** For a stream that was deleted with its run: its name, and since when in epoch milliseconds. */
  stream?: unknown;
  expiredAt?: unknown;
}

/** The source of a refusal. */
export interface Refusal {
  status: number;
  url: string;
  /** The `Retry-After` header in seconds, if there was a valid one. */
  retryAfter: number | undefined;
  /** The size of the request's body in bytes. */
  bytes?: number | undefined;
}

/**
 * Rebuilds the SDK's error from a refusal. If it has no name (the answer came from a proxy, not the service), only
 * unambiguous statuses are mapped. A bare 404 is not, since it usually means a wrong address.
 */
export function errorFromWire(wire: WireError | undefined, refusal: Refusal): Error {
  const message = text(wire?.message) ?? unnamedMessage(refusal);
  const retryAfter = number(wire?.retryAfter) ?? refusal.retryAfter;
  switch (text(wire?.name) ?? nameByStatus(refusal.status)) {
    case 'EntityConflictError':
      return new EntityConflictError(message);
    case 'RunExpiredError':
      return new RunExpiredError(message);
    case 'TooEarlyError':
      return new TooEarlyError(message, { retryAfter });
    case 'ThrottleError':
      return new ThrottleError(message, { retryAfter, code: text(wire?.code) });
    case 'PreconditionFailedError':
      return new PreconditionFailedError(message, { retryAfter });
    case 'WorkflowRunNotFoundError':
      return new WorkflowRunNotFoundError(text(wire?.runId) ?? '');
    case 'HookNotFoundError':
      return new HookNotFoundError(text(wire?.token) ?? '');
    case 'RunNotSupportedError':
      return new RunNotSupportedError(number(wire?.runSpecVersion) ?? 0, number(wire?.worldSpecVersion) ?? 0);
    case 'StreamExpiredError': {
      const expiredAt = number(wire?.expiredAt);
      const since = expiredAt === undefined ? undefined : new Date(expiredAt);
      return new StreamExpiredError(message, text(wire?.runId) ?? '', text(wire?.stream) ?? '', since);
    }
    case 'AttributeValidationError':
      return new AttributeValidationError(message);
    default:
      return new WorkflowWorldError(message, {
        status: number(wire?.status) ?? refusal.status,
        // A 413 is always about the request's size, even from a proxy: a retry would be refused, too.
        code: text(wire?.code) ?? (refusal.status === 413 ? 'too_large' : undefined),
        url: refusal.url,
        retryAfter,
      });
  }
}

function nameByStatus(status: number): string | undefined {
  switch (status) {
    case 409:
      return 'EntityConflictError';
    case 410:
      return 'RunExpiredError';
    case 412:
      return 'PreconditionFailedError';
    case 425:
      return 'TooEarlyError';
    case 429:
      return 'ThrottleError';
    default:
      return undefined;
  }
}

function unnamedMessage({ status, url, bytes = 0 }: Refusal): string {
  if (status === 413) {
    return (
      `${url} answered 413, and not by world-redis: something between the app and the service refuses a body of ${bytes} bytes. ` +
      'Raise its limit (nginx: client_max_body_size) to that of the service (WORKFLOW_WORLD_MAX_BODY)'
    );
  }
  const hint = status === 404 ? ' Is WORKFLOW_WORLD_URL the address of world-redis?' : '';
  return `${url} answered ${status} without a reason.${hint}`;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
