// @ts-check
// A new ULID: the time and 80 random bits.
import { randomBytes } from 'node:crypto';

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

export function ulid() {
  let time = '';
  for (let left = Date.now(), i = 0; i < 10; i++, left = Math.floor(left / 32)) time = DIGITS[left % 32] + time;
  return time + Array.from(randomBytes(16), (byte) => DIGITS[byte % 32]).join('');
}
