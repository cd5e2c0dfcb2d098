import { randomBytes } from 'node:crypto';

let prefix: string | undefined;
let count = 0;
let moment = 0;
let momentText = '';

/**
 * A request id that no other call has, of this process or any other; cheaper than a UUID a call. The random part is
 * the process's, the count its call's, and the time keeps apart the copies of a process that was restored from a
 * snapshot.
 */
export function newRequestId(): string {
  prefix ??= randomBytes(15).toString('base64url');
  const now = Date.now();
  if (now !== moment) {
    moment = now;
    momentText = now.toString(36);
  }
  return `${prefix}-${(count++).toString(36)}-${momentText}`;
}
