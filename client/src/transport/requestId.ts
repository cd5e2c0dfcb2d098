import { randomBytes } from 'node:crypto';

let prefix: string | undefined;
let count = 0;
let millis = 0;
let millisText = '';

/**
 * A request id that no other call has, of this process or any other; cheaper than a UUID a call. The random part is
 * the process's, the count its call's, and the time keeps apart the copies of a process that was restored from a
 * snapshot.
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
