// The workflows that the bench runs, the same for every SDK and World.
import { createHook, getWritable, sleep } from 'workflow';

async function add(a: number, b: number) {
  'use step';
  return a + b;
}

export async function addition(a: number, b: number) {
  'use workflow';
  return await add(a, b);
}

/** n steps, one after the other. */
export async function seq(n: number) {
  'use workflow';
  let sum = 0;
  for (let i = 0; i < n; i++) sum = await add(sum, 1);
  return sum;
}

/** n steps at once. */
export async function par(n: number) {
  'use workflow';
  const sums = await Promise.all(Array.from({ length: n }, (_, i) => add(i, 1)));
  return sums.reduce((a, b) => a + b, 0);
}

export async function nap(ms: number) {
  'use workflow';
  await sleep(ms);
}

export async function hooked(token: string) {
  'use workflow';
  return await createHook<{ value: number }>({ token });
}

/** A log of 3 n events and more, which the payload of the hook makes the workflow replay once more. */
export async function longThenHooked(n: number, token: string) {
  'use workflow';
  for (let left = n; left > 0; left -= 500) await Promise.all(Array.from({ length: Math.min(left, 500) }, (_, i) => add(i, 1)));
  return await createHook<{ value: number }>({ token });
}

async function write(count: number, size: number) {
  'use step';
  const writer = getWritable().getWriter();
  for (let i = 0; i < count; i++) await writer.write(new Uint8Array(size).fill(i & 255));
  await writer.close();
}

export async function streamer(count: number, size: number) {
  'use workflow';
  await write(count, size);
}
