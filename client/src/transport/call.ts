import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.js';
import { WorkflowWorldError } from '../sdk/errors.js';
import { CBOR, decode, decodeJson } from '../wire/encoding.js';
import { isOverBudget, spread } from '../wire/overBudget.js';
import { isFields } from '../wire/timestamps.js';
import { errorFromWire, type WireError } from '../wire/wireError.js';
import type { Answered } from './bundles.js';
import { connectionTo } from './connection.js';
import type { Incoming, Outgoing } from './exchange.js';
import { newRequestId } from './requestId.js';
import { transportError } from './transportError.js';

/** One call to the service. */
export interface Call {
  method: 'GET' | 'POST';
  /** Path and query, already percent-encoded. */
  path: string;
  body?: Uint8Array;
  contentType?: string;
  headers?: Record<string, string> | undefined;
  /** How long the service may delay the answer, in milliseconds, in addition to the usual time. Such a call has its own socket. */
  holdMs?: number;
  /** Cancels the call. */
  signal?: AbortSignal | undefined;
  /** A call to make in the same request once this one has succeeded (`then` in docs/protocol.md). */
  then?: ThenCall | undefined;
  /** For a call that is retried for longer than others, and after every answer that may change later. */
  patience?: Patience | undefined;
  /** Is called before each try. It delays the try by a promise, or ends the call by an error. */
  beforeTry?: (() => Promise<void> | undefined) | undefined;
}

/** How a call is retried until it succeeds. */
export interface Patience {
  /** How long, in milliseconds; infinite means for the life of the process. */
  forMs: number;
  /** How long a try waits for an answer, in milliseconds: if there is none, there must be time for further tries. */
  timeoutMs: number;
  /** Is called with each failure that is followed by another try. */
  failed(): void;
  /** Is called with the failure after which there is no other try, although a later one might have succeeded. */
  gaveUp(error: Error): void;
}

/** A call that is sent in one request with another. It may be left out, and it is not retried once the first has succeeded. */
export interface ThenCall {
  call: Call;
  /** Is called with the decoded answer, before the first call's is returned; not called if there is none, or a refusal. */
  answered(value: unknown): void;
}

/** Pauses between tries grow from the first to the second of these. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** The longest pause of a call that is retried until it succeeds, once it has been retried for as long as others. */
const LONGEST_LATE_PAUSE_MS = 5_000;
/** Statuses after which the same call may succeed: the service or a proxy in front of it is not ready. */
const TRY_AGAIN = new Set([502, 503, 504]);

/**
 * Makes a call and returns the decoded answer. A call that failed is retried for `config.retryForMs`: GETs change
 * nothing, and every POST has its own `Idempotency-Key`, under which the service answers a repeat without making the
 * call again. A call for which the service has no memory at the moment (429 with the code `over_budget`) is repeated
 * separately, for at least `config.timeoutMs`, because it would have waited that long for its answer. No other
 * refusal (4xx, 500) is repeated, except that a call with {@link Call.patience} is repeated after each 429 and 500.
 */
export async function call(config: Config, request: Call): Promise<unknown> {
  // The keys are the same at every try, including that of `then`.
  const headers = requestHeaders(config, request);
  const thenHeaders = request.then && requestHeaders(config, request.then.call);
  const { patience } = request;
  const began = Date.now();
  const deadline = began + (patience?.forMs ?? config.retryForMs);
  const { signal } = connectionTo(config.url).closing;
  let alone = false;
  for (let attempt = 0; ; attempt++) {
    const hold = request.beforeTry?.();
    if (hold) await hold;
    let answer: Answered | Failed;
    try {
      answer = await (alone ? sendAlone(config, request, headers) : send(config, request, headers, thenHeaders));
    } catch (cause) {
      answer = unanswered(config, request, cause);
    }
    const result = 'error' in answer ? answer : resultOf(config, request, answer);
    if ('value' in result) return result.value;
    if (!result.again) throw result.error;
    const elapsed = Date.now() - began;
    const over = isOverBudget(result.error);
    // In a bundle, other calls may have used the memory. A separate call waits for memory at the service.
    if (over && !alone) result.waitMs = 0;
    alone ||= over;
    // Without a deadline a call becomes late, too: it must not keep a process alive for ever that has finished
    // otherwise.
    const late = deadline === Number.POSITIVE_INFINITY && elapsed > config.streamRetryForMs;
    const pause = Math.max(late ? Math.min(LONGEST_LATE_PAUSE_MS, elapsed / 4) : pauseBefore(attempt), result.waitMs);
    const until = over ? Math.max(deadline, began + config.timeoutMs) : deadline;
    if (!signal.aborted && began + elapsed + pause <= until) {
      patience?.failed();
      await pauseFor(pause, signal, !late);
      // If close() was called in the meantime, a try would silently open the connection again.
      if (!signal.aborted) continue;
    }
    patience?.gaveUp(result.error);
    throw result.error;
  }
}

/** Makes a call without retrying it. */
export async function callOnce(config: Config, request: Call): Promise<unknown> {
  const headers = requestHeaders(config, request);
  const answer = await send(config, request, headers).catch((cause: unknown) => unanswered(config, request, cause));
  const result = 'error' in answer ? answer : resultOf(config, request, answer);
  if ('value' in result) return result.value;
  throw result.error;
}

/** The pause before try number `attempt + 2`: doubling, with a quarter of jitter so that processes spread out. */
export function pauseBefore(attempt: number): number {
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  return pause * (0.75 + Math.random() * 0.5);
}

/** Waits, but not longer than until the signal fires. Without `ref` the process may end meanwhile. */
export async function pauseFor(ms: number, signal: AbortSignal, ref = true): Promise<void> {
  await sleep(ms, undefined, { signal, ref }).catch(() => undefined);
}

type Result = { value: unknown } | Failed;

interface Failed {
  error: Error;
  again: boolean;
  waitMs: number;
}

type Headers = Record<string, string>;

/** Makes one try. It is rejected if there was no answer. */
function send(config: Config, request: Call, headers: Headers, thenHeaders?: Headers): Promise<Answered> {
  const { bundles, waits, basePath } = connectionTo(config.url);
  const first = outgoing(basePath, config, request, headers);
  if (request.holdMs !== undefined) return waits.request(first);
  return bundles.request(first, request.then && thenHeaders && outgoing(basePath, config, request.then.call, thenHeaders));
}

/** Makes one try in a separate request. */
function sendAlone(config: Config, request: Call, headers: Headers): Promise<Answered> {
  const { calls, waits, basePath } = connectionTo(config.url);
  return (request.holdMs === undefined ? calls : waits).request(outgoing(basePath, config, request, headers));
}

function outgoing(basePath: string, config: Config, { method, path, body, holdMs = 0, signal, patience }: Call, headers: Headers): Outgoing {
  const timeoutMs = (patience?.timeoutMs ?? config.timeoutMs) + holdMs;
  return { method, path: basePath + path, headers, body, timeoutMs, signal };
}

function unanswered(config: Config, { path, signal }: Call, cause: unknown): Failed {
  return { error: transportError(cause, serviceUrl(config, path)), again: !signal?.aborted, waitMs: 0 };
}

/** The result of an answer. It throws only what the caller's own `answered` throws. */
function resultOf(config: Config, { path, then, body, patience }: Call, answer: Answered): Result {
  const bytes = answer.body;
  const contentType = String(answer.headers['content-type'] ?? '');
  const { status } = answer;
  if (succeeded(answer)) {
    const value = decodeBody(bytes, contentType);
    if (isFields(value)) {
      const thenValue = answer.then && succeeded(answer.then) ? decodeBody(answer.then.body, CBOR) : undefined;
      if (thenValue !== undefined) then?.answered(thenValue);
      return { value };
    }
    const url = serviceUrl(config, path);
    const what = contentType || 'no content type';
    const message = `${url} answered ${status} with something that is not an answer of world-redis (${what})`;
    return { error: new WorkflowWorldError(message, { status: 502, url }), again: patience !== undefined, waitMs: 0 };
  }
  const retryAfter = retryAfterSeconds(answer.headers['retry-after']);
  const wire = decodeBody(bytes, contentType) as { error?: WireError } | undefined | null;
  const error = errorFromWire(wire?.error, { status, url: serviceUrl(config, path), retryAfter, bytes: body?.byteLength });
  if (isOverBudget(error)) {
    const seconds = retryAfter ?? (error as { retryAfter?: number }).retryAfter ?? 1;
    return { error, again: true, waitMs: spread(seconds * 1000) };
  }
  const again = TRY_AGAIN.has(status) || (patience !== undefined && (status >= 500 || status === 429));
  return { error, again, waitMs: (retryAfter ?? 0) * 1000 };
}

function succeeded({ status }: Incoming): boolean {
  return status >= 200 && status < 300;
}

/** The headers of every request to the service. */
export function commonHeaders(config: Config): Record<string, string> {
  return config.token === undefined ? {} : { authorization: bearer(config.token) };
}

function bearer(token: string): string {
  return `Bearer ${token}`;
}

/** The URL of a path of the service, for messages. */
export function serviceUrl(config: Config, path: string): string {
  return config.url.replace(/\/+$/, '') + path;
}

function requestHeaders(config: Config, request: Call): Record<string, string> {
  const headers: Headers = { ...request.headers, accept: CBOR };
  if (config.token !== undefined) headers['authorization'] = bearer(config.token);
  if (request.method === 'POST') headers['idempotency-key'] = newRequestId();
  if (request.body !== undefined) headers['content-type'] = request.contentType ?? CBOR;
  return headers;
}

/** The decoded body; undefined if it has neither encoding or is malformed. */
export function decodeBody(bytes: Uint8Array, contentType: string): unknown {
  try {
    if (contentType.startsWith(CBOR)) return decode(bytes);
    if (contentType.startsWith('application/json')) return decodeJson(Buffer.from(bytes).toString('utf8'));
  } catch {
    // The caller gets an error about a malformed body instead of the parser's.
  }
  return undefined;
}

/** `Retry-After` in seconds, from its numeric form. */
export function retryAfterSeconds(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}
