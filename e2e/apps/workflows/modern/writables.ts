// Streams by name, streams that are returned, and streams that another run writes.
import { getWritable } from 'workflow';
import { start } from 'workflow/api';

const BYTES = new Uint8Array([0, 255, 128]);

async function writesTwo(namespace?: string) {
  'use step';
  const writer = getWritable<unknown>({ namespace }).getWriter();
  await writer.write(BYTES);
  await writer.write({ in: namespace ?? 'default', n: 1 });
  writer.releaseLock();
}

async function closes(...namespaces: (string | undefined)[]) {
  'use step';
  for (const namespace of namespaces) await getWritable({ namespace }).close();
}

/** Bytes and an object into the default stream, then into a named one. */
export async function twoWritables() {
  'use workflow';
  await writesTwo();
  await writesTwo('side');
  await closes(undefined, 'side');
  return 'done';
}

async function writesInTurns(from: number) {
  'use step';
  const [main, side] = [getWritable<number>().getWriter(), getWritable<number>({ namespace: 'side' }).getWriter()];
  for (let i = from; i < from + 3; i++) {
    await main.write(i);
    await side.write(-i);
  }
  main.releaseLock();
  side.releaseLock();
}

/** Two steps, one after the other, that each open both streams. */
export async function inTurns() {
  'use workflow';
  await writesInTurns(1);
  await writesInTurns(4);
  await closes(undefined, 'side');
}

async function writesTexts(texts: string[]) {
  'use step';
  const writer = getWritable<Uint8Array>().getWriter();
  for (const text of texts) await writer.write(new TextEncoder().encode(text));
  await writer.close();
}

export async function textsAsBytes(texts: string[]) {
  'use workflow';
  await writesTexts(texts);
}

async function lines(count: number, every: number) {
  'use step';
  let n = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((done) => setTimeout(done, every));
      controller.enqueue(new TextEncoder().encode(`line ${n++}\n`));
      if (n === count) controller.close();
    },
  });
}

/** Its value is a stream, which a step goes on to write. */
export async function returnsStream(count: number, every: number) {
  'use workflow';
  return await lines(count, every);
}

async function fills(writable: WritableStream<Uint8Array>, size: number) {
  'use step';
  const writer = writable.getWriter();
  await writer.write(new Uint8Array(size).fill(7));
  await writer.close();
}

export async function fillsForParent(writable: WritableStream<Uint8Array>, size: number) {
  'use workflow';
  await fills(writable, size);
}

async function startsChild(writable: WritableStream<Uint8Array>, size: number) {
  'use step';
  const run = await start(fillsForParent, [writable, size]);
  await run.returnValue;
  return run.runId;
}

/** A child run writes the stream of this one. */
export async function forwardsWritable(size: number, namespace?: string) {
  'use workflow';
  return await startsChild(getWritable<Uint8Array>({ namespace }), size);
}
