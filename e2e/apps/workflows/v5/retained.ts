// A run that does a little of everything in turns, so that steps run where the workflow does and elsewhere.
import { createHook, sleep } from 'workflow';

async function add(a: number, b: number) {
  'use step';
  return a + b;
}

async function addObject({ a, b }: { a: number; b: number }) {
  'use step';
  return { sum: a + b };
}

async function label(text: string) {
  'use step';
  return text;
}

export async function retainedMix(token: string) {
  'use workflow';
  const plain = await add(1, 2);
  const { sum } = await addObject({ a: plain, b: 0 });
  const [left, right] = await Promise.all([add(sum, 10), add(sum, 20)]);
  const raced = await Promise.race([add(left, 0), sleep('30s').then(() => -1)]);
  await sleep('1s');
  const rested = await add(right, 1);
  const hook = createHook<{ delta: number }>({ token });
  const [payload, text] = await Promise.all([hook, label('step')]);
  const base = await add(132, payload.delta);
  return [plain, sum, left, right, raced, rested, text, base, await add(base, payload.delta)];
}
