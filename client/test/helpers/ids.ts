/** Ids as the SDK mints them. */
import { randomInt } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

export function ulid(): string {
  let time = Date.now();
  let head = '';
  for (let i = 0; i < 10; i++) {
    head = (ALPHABET[time % 32] as string) + head;
    time = Math.floor(time / 32);
  }
  return head + Array.from({ length: 16 }, () => ALPHABET[randomInt(32)]).join('');
}

export const newRunId = () => `wrun_${ulid()}`;
export const newStepId = () => `step_${ulid()}`;
export const newHookId = () => `hook_${ulid()}`;
export const newWaitId = () => `wait_${ulid()}`;
