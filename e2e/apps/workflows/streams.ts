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

async function sing(voice: string, count: number) {
  'use step';
  const writer = getWritable<[string, number]>().getWriter();
  const written: Promise<void>[] = []; // one at a time, each would wait until it is stored
  for (let i = 0; i < count; i++) written.push(writer.write([voice, i]));
  await Promise.all(written);
  writer.releaseLock();
}

async function end() {
  'use step';
  await getWritable().close();
}

/** Two steps write to one stream at the same time, with the given number of values each. */
export async function duet(count: number) {
  'use workflow';
  await Promise.all([sing('high', count), sing('low', count)]);
  await end();
}
