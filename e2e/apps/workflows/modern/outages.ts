// Steps that write a stream while Redis goes away, and steps that run again although they closed their stream.
import { getStepMetadata, getWritable } from 'workflow';

const wait = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function writesCloses(letters: string, kind: 'throws' | 'waits' | 'returns') {
  'use step';
  const { attempt } = getStepMetadata();
  const writer = getWritable<string>().getWriter();
  for (const letter of letters) await writer.write(letter + attempt);
  await writer.close();
  if (attempt > 1 || kind === 'returns') return attempt;
  if (kind === 'throws') throw new Error('the first attempt fails after the close');
  await wait(60_000); // the test kills this process
  return attempt;
}

/** A step that fails, or does not come to its end, after it has closed its stream; its second attempt returns. */
export async function closesTwice(kind: 'throws' | 'waits') {
  'use workflow';
  return await writesCloses('abc', kind);
}

async function writesGiven(writable: WritableStream<string>, kind: 'throws' | 'waits' | 'returns', text: string) {
  'use step';
  const { attempt } = getStepMetadata();
  const writer = writable.getWriter();
  for (const letter of 'abc') await writer.write(letter + attempt);
  await writer.close();
  if (attempt > 1 || kind === 'returns') return attempt;
  if (kind === 'throws') throw new Error(`the first attempt fails after the close, with ${text.length} letters`);
  await wait(60_000); // the test kills this process
  return attempt;
}

/** The same with a stream that the step gets as an argument, together with a text that is long enough to be compressed. */
export async function closesGiven(kind: 'throws' | 'waits') {
  'use workflow';
  return await writesGiven(getWritable<string>(), kind, 'text '.repeat(2000));
}

async function holds(writable: WritableStream<string>, gate: string) {
  'use step';
  const { existsSync } = await import('node:fs');
  while (!existsSync(gate)) await wait(20);
  return writable.locked;
}

/** The same with another step that holds the stream, until the file `gate` is there. */
export async function closesShared(gate: string) {
  'use workflow';
  const writable = getWritable<string>();
  const [attempt] = await Promise.all([writesGiven(writable, 'throws', ''), holds(writable, gate)]);
  return attempt;
}

/** Another step writes behind a close to the stream that both got as an argument. */
export async function closesGivenAndAnother() {
  'use workflow';
  const writable = getWritable<string>();
  await writesGiven(writable, 'returns', '');
  try {
    await writesAnother(writable);
  } catch {
    return 'refused';
  }
  return 'taken';
}

async function writesAnother(writable: WritableStream<string>) {
  'use step';
  const writer = writable.getWriter();
  await writer.write('d');
  await writer.close();
}
writesAnother.maxRetries = 0;

/** Another step writes behind a close. */
export async function closesAndAnother() {
  'use workflow';
  await writesCloses('a', 'returns');
  try {
    await writesOnce('b');
  } catch {
    return 'refused';
  }
  return 'taken';
}

async function writesOnce(letter: string) {
  'use step';
  const writer = getWritable<string>().getWriter();
  await writer.write(letter);
  await writer.close();
}
writesOnce.maxRetries = 0;

async function ticksAttempt(count: number, every: number) {
  'use step';
  const { attempt } = getStepMetadata();
  const writer = getWritable<string>().getWriter();
  for (let i = 0; i < count; i++) {
    await writer.write(`${attempt}:${i}`);
    await wait(every);
  }
  await writer.close();
  return attempt;
}

/** Writes "attempt:number" at intervals, closes, and returns the attempt that completed. */
export async function slowTicks(count: number, every: number) {
  'use workflow';
  return await ticksAttempt(count, every);
}

async function writesAndLeaves(count: number, every: number) {
  'use step';
  const { attempt } = getStepMetadata();
  const writer = getWritable<string>().getWriter();
  for (let i = 0; i < count; i++) {
    void writer.write(`${attempt}:${i}`).catch(() => undefined);
    await wait(every);
  }
  return attempt; // without waiting for what was written, nor letting go of the writer
}

async function closes() {
  'use step';
  await getWritable().close();
}

/** The same by a step that waits for none of its writes; another one closes. */
export async function carelessTicks(count: number, every: number) {
  'use workflow';
  const attempt = await writesAndLeaves(count, every);
  await closes();
  return attempt;
}

async function floods(megabytes: number, gate: string, progress: string) {
  'use step';
  const { existsSync, writeFileSync } = await import('node:fs');
  const { attempt } = getStepMetadata();
  const writer = getWritable<Uint8Array>().getWriter();
  for (let i = 0; i < megabytes; i++) {
    if (i === 1) while (!existsSync(gate)) await wait(20);
    await writer.write(new Uint8Array(1024 * 1024).fill(i));
    writeFileSync(progress, String(i + 1));
  }
  await writer.close();
  return attempt;
}

/** Writes a chunk of 1 MiB, and once the file `gate` is there the others as fast as it may; `progress` says how many it got rid of. */
export async function flood(megabytes: number, gate: string, progress: string) {
  'use workflow';
  return await floods(megabytes, gate, progress);
}
