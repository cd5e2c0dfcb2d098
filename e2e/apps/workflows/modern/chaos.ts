// What runs while everything is killed (e2e/chaos). Each step may be executed again and again: it writes its execution into its chunks,
// and returns it, so that the chunks of the execution whose result counted can be told from those of others.
import { createHook, FatalError, getWritable, sleep } from 'workflow';
import { getRun, start } from 'workflow/api';
import { after, begins, type Execution, ends, lost } from './chaos-journal';

/** Kills use up attempts, and no run is to fail by them. */
const ATTEMPTS = 30;

async function adds(a: number, b: number, milliseconds: number) {
  'use step';
  const me = begins();
  await after(milliseconds);
  ends(me);
  return a + b;
}
adds.maxRetries = ATTEMPTS;

async function failsFirst(value: number) {
  'use step';
  const me = begins();
  await after(100);
  if (me.attempt === 1) throw new Error('the first attempt is to fail');
  ends(me);
  return value;
}
failsFirst.maxRetries = ATTEMPTS;

async function failsForGood() {
  'use step';
  throw new FatalError('meant to fail');
}

/** Steps in a row, then as many side by side. */
export async function chaosSteps(count: number, milliseconds: number) {
  'use workflow';
  let sum = 0;
  for (let i = 0; i < count; i++) sum = await adds(sum, 1, milliseconds);
  const more = await Promise.all(Array.from({ length: count }, (_, i) => adds(i, 1, milliseconds)));
  return more.reduce((a, b) => a + b, sum);
}

export async function chaosRetries(value: number) {
  'use workflow';
  return await failsFirst(await failsFirst(value));
}

export async function chaosSleeps(count: number, milliseconds: number) {
  'use workflow';
  let sum = 0;
  for (let i = 0; i < count; i++) {
    await sleep(milliseconds);
    sum = await adds(sum, 1, 0);
  }
  await Promise.all([sleep(milliseconds), sleep(2 * milliseconds)]);
  return sum;
}

export async function chaosHook(token: string) {
  'use workflow';
  const before = await adds(0, 1, 200);
  const payload = await createHook<number>({ token });
  return await adds(before, payload, 200);
}

export async function chaosChild(n: number) {
  'use workflow';
  return await adds(n, n, 300);
}

async function startsChild(n: number) {
  'use step';
  return (await start(chaosChild, [n])).runId;
}
startsChild.maxRetries = ATTEMPTS;

/** Undefined where the run is not there. */
async function resultOf(runId: string) {
  'use step';
  try {
    return (await getRun(runId).returnValue) as number;
  } catch (error) {
    if (!(await getRun(runId).exists)) {
      lost(runId);
      return undefined;
    }
    throw error;
  }
}
resultOf.maxRetries = ATTEMPTS;

/** A child that Redis has lost is started again. */
async function ofChild(n: number) {
  for (;;) {
    const result = await resultOf(await startsChild(n));
    if (result !== undefined) return result;
  }
}

export async function chaosParent(count: number) {
  'use workflow';
  const results = await Promise.all(Array.from({ length: count }, (_, i) => ofChild(i)));
  return results.reduce((a, b) => a + b, 0);
}

export async function chaosFails() {
  'use workflow';
  await failsForGood();
}

interface Plan {
  count: number;
  every: number;
  closes: boolean;
  /** Throws in its first attempt, after the last write and the close. */
  throws: boolean;
  namespace?: string;
}

async function writes({ count, every, closes, throws, namespace }: Plan) {
  'use step';
  const me = begins();
  const writer = getWritable<Execution & { n: number }>({ namespace }).getWriter();
  for (let n = 0; n < count; n++) {
    if (n > 0) await after(every);
    await writer.write({ ...me, n });
  }
  if (closes) await writer.close();
  else writer.releaseLock();
  if (throws && me.attempt === 1) throw new Error('the first attempt is to fail behind its last chunk');
  ends(me);
  return { ...me, count, namespace };
}
writes.maxRetries = ATTEMPTS;

/** Steps that write streams slowly: stages one after the other, the plans of a stage side by side. */
export async function chaosWrites(stages: Plan[][]) {
  'use workflow';
  const written = [];
  for (const plans of stages) written.push(...(await Promise.all(plans.map((plan) => writes(plan)))));
  return written;
}

async function lines(count: number, every: number) {
  'use step';
  const me = begins();
  let n = 0;
  const stream = new ReadableStream({
    async pull(controller) {
      await after(every);
      controller.enqueue({ ...me, n: n++ });
      if (n === count) {
        controller.close();
        ends(me);
      }
    },
  });
  return { ...me, count, stream };
}
lines.maxRetries = ATTEMPTS;

/** Its value holds a stream that a step goes on to write. */
export async function chaosReturns(count: number, every: number) {
  'use workflow';
  return await lines(count, every);
}
