// Sleeps between steps.
import { sleep } from 'workflow';

async function now() {
  'use step';
  return Date.now();
}

/** Three steps with a sleep after each; returns when each ran, by the app's clock. */
export async function stampAndSleep(milliseconds: number) {
  'use workflow';
  const stamps: number[] = [];
  for (let i = 0; i < 3; i++) {
    stamps.push(await now());
    await sleep(milliseconds);
  }
  return stamps;
}
