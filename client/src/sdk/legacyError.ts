import { WorkflowError } from './errors.js';

/** The one error class of SDKs from before event sourcing, which check its `status`. */
class WorkflowAPIError extends WorkflowError {
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly url: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(cause: Error, details: { status?: number; code?: string; url?: string; retryAfter?: number }) {
    super(cause.message, { cause });
    this.name = 'WorkflowAPIError';
    this.status = details.status;
    this.code = details.code;
    this.url = details.url;
    this.retryAfter = details.retryAfter;
  }
}

/** The statuses of the classes that later SDKs distinguish by name alone. */
const STATUS: Record<string, number> = {
  EntityConflictError: 409,
  RunExpiredError: 410,
  TooEarlyError: 425,
  ThrottleError: 429,
  WorkflowRunNotFoundError: 404,
  HookNotFoundError: 404,
  RunNotSupportedError: 422,
};

/** The refusal in the form that such an SDK knows. */
export function asApiError(error: unknown): unknown {
  if (!(error instanceof WorkflowError)) return error;
  const details = error as { status?: number; code?: string; url?: string; retryAfter?: number };
  const status = details.status ?? STATUS[error.name];
  return new WorkflowAPIError(error, status === undefined ? details : { ...details, status });
}
