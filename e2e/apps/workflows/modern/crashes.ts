// A workflow that ends the app's process, and one that is innocent.

/** Takes all the memory that Node may have. */
export async function bomb() {
  'use workflow';
  const kept: number[][] = [];
  for (;;) kept.push(new Array(100_000).fill(kept.length));
}

async function takes(milliseconds: number) {
  'use step';
  await new Promise((done) => setTimeout(done, milliseconds));
  return milliseconds;
}

/** One step after the other, each of which takes the given time. */
export async function innocent(...lengths: number[]) {
  'use workflow';
  const took = [];
  for (const length of lengths) took.push(await takes(length));
  return took;
}
