import { randomBytes } from 'node:crypto';

let prefix: string | undefined;
let count = 0;
let millis = 0;
let millisText = '';

/**
 * A request id that no other call of any process has; cheaper than a UUID per call. The random part is per process,
 * the count per call, and the time distinguishes copies of a process that was restored from a snapshot.
 */
export function newRequestId(): string {
  prefix ??= randomBytes(15).toString('base64url');
  const now = Date.now();
  if (now !== millis) {
    millis = now;
    millisText = now.toString(36);
  }
  return `${prefix}-${(count++).toString(36)}-${millisText}`;
}
