/**
 * The SDK's error classes, as far as a World throws them. The SDK recognises them by `name` and fields alone
 * (contract §7), so these are our own and the SDK is not needed at run time.
 */
export class WorkflowError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'WorkflowError';
  }
}

/** The fields of a {@link WorkflowWorldError} in addition to its message. */
export interface WorldErrorDetails {
  /** HTTP status of the answer; absent if there was none. */
  status?: number | undefined;
  /** The service's stable code, or `TRANSPORT` / `TIMEOUT` if the service was not reached or did not answer. */
  code?: string | undefined;
  /** The URL of the call. */
  url?: string | undefined;
  /** Seconds after which a retry is useful. */
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** The general error of a World. */
export class WorkflowWorldError extends WorkflowError {
  declare status?: number;
  declare code?: string;
  declare url?: string;
  declare retryAfter?: number;

  constructor(message: string, details: WorldErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'WorkflowWorldError';
    if (details.status !== undefined) this.status = details.status;
    if (details.code !== undefined) this.code = details.code;
    if (details.url !== undefined) this.url = details.url;
    if (details.retryAfter !== undefined) this.retryAfter = details.retryAfter;
  }
}

/** The entity exists already, or its state does not allow the transition. */
export class EntityConflictError extends WorkflowWorldError {
  constructor(message: string) {
    super(message);
    this.name = 'EntityConflictError';
  }
}

/** The run has ended. */
export class RunExpiredError extends WorkflowWorldError {
  constructor(message: string) {
    super(message);
    this.name = 'RunExpiredError';
  }
}

/** The stream could not be read or written (SDK v5). The SDK attributes it to the World and not to the workflow. */
export class StreamError extends WorkflowWorldError {
  constructor(message: string, details: Omit<WorldErrorDetails, 'code' | 'retryAfter'> = {}) {
    super(message, { ...details, code: 'STREAM_ERROR' });
    this.name = 'StreamError';
  }
}

/** The stream was deleted with the data of its run. */
export class StreamExpiredError extends WorkflowWorldError {
  readonly runId: string;
  readonly streamId: string;
  readonly expiredAt: Date | undefined;

  constructor(message: string, runId: string, streamId: string, expiredAt?: Date) {
    super(message, { status: 410, code: 'stream-expired' });
    this.name = 'StreamExpiredError';
    this.runId = runId;
    this.streamId = streamId;
    this.expiredAt = expiredAt;
  }
}

/** A step is not due yet; `retryAfter` is in seconds. */
export class TooEarlyError extends WorkflowWorldError {
  constructor(message: string, options: { retryAfter?: number | undefined } = {}) {
    super(message, options);
    this.name = 'TooEarlyError';
  }
}

/** The service limits requests; `retryAfter` is in seconds. */
export class ThrottleError extends WorkflowWorldError {
  constructor(message: string, options: { retryAfter?: number | undefined; code?: string | undefined } = {}) {
    super(message, options);
    this.name = 'ThrottleError';
  }
}

/** The caller's view of the run is stale. */
export class PreconditionFailedError extends WorkflowWorldError {
  constructor(message: string, options: { retryAfter?: number | undefined } = {}) {
    super(message, { status: 412, ...options });
    this.name = 'PreconditionFailedError';
  }
}

/** The run does not exist. */
export class WorkflowRunNotFoundError extends WorkflowError {
  readonly runId: string;

  constructor(runId: string) {
    super(`Workflow run "${runId}" not found`);
    this.name = 'WorkflowRunNotFoundError';
    this.runId = runId;
  }
}

/** The hook does not exist; `token` is the requested token or hook id. */
export class HookNotFoundError extends WorkflowError {
  readonly token: string;

  constructor(token: string) {
    super('Hook not found');
    this.name = 'HookNotFoundError';
    this.token = token;
  }
}

/** The run was created by a newer SDK than the World supports. */
export class RunNotSupportedError extends WorkflowError {
  readonly runSpecVersion: number;
  readonly worldSpecVersion: number;

  constructor(runSpecVersion: number, worldSpecVersion: number) {
    super(`Run requires spec version ${runSpecVersion}, but the World supports version ${worldSpecVersion}. Please upgrade the World.`);
    this.name = 'RunNotSupportedError';
    this.runSpecVersion = runSpecVersion;
    this.worldSpecVersion = worldSpecVersion;
  }
}

/** Attributes that break the rules of the contract. */
export class AttributeValidationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AttributeValidationError';
  }
}
