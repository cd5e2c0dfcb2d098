// Streams that are read while they are written.
import { getWritable } from 'workflow';

async function tick(count: number, every: number) {
  'use step';
  const writer = getWritable<Uint8Array>().getWriter();
  for (let i = 0; i < count; i++) {
    await new Promise((done) => setTimeout(done, every));
    await writer.write(new Uint8Array([i]));
  }
  await writer.close();
}

/** Writes one byte every so often: 0, 1, 2, … */
export async function ticker(count: number, every: number) {
  'use workflow';
  await tick(count, every);
}
