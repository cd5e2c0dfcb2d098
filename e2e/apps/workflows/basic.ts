// One workflow for each thing a World does: a step, steps in a row, steps side by side,
// a timer, a stream, a hook.
import { createHook, getWritable, sleep } from 'workflow';

async function add(a: number, b: number) {
  'use step';
  return a + b;
}

export async function addition(a: number, b: number) {
  'use workflow';
  return await add(a, b);
}

export async function seq(n: number) {
  'use workflow';
  let sum = 0;
  for (let i = 0; i < n; i++) sum = await add(sum, 1);
  return sum;
}

export async function par(n: number) {
  'use workflow';
  const sums = await Promise.all(Array.from({ length: n }, (_, i) => add(i, 1)));
  return sums.reduce((a, b) => a + b, 0);
}

export async function naps(milliseconds: number) {
  'use workflow';
  await sleep(milliseconds);
  return 'awake';
}

async function writeChunks(count: number, size: number) {
  'use step';
  const writer = getWritable<Uint8Array>().getWriter();
  for (let i = 0; i < count; i++) await writer.write(new Uint8Array(size).fill(i & 255));
  await writer.close();
  return count;
}

export async function streamer(count: number, size: number) {
  'use workflow';
  return await writeChunks(count, size);
}

export async function hookwf(token: string) {
  'use workflow';
  return await createHook<unknown>({ token });
}
