// Steps that fail, steps that take their time, and runs that are cut off in the middle.
import { existsSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { createHook, FatalError, getStepMetadata, RetryableError, sleep } from 'workflow';

async function failUntil(attempt: number) {
  'use step';
  const now = getStepMetadata().attempt;
  if (now < attempt) throw new RetryableError(`attempt ${now}`, { retryAfter: 10 });
  return now;
}

/** Fails until the given attempt; returns the attempt that went well. */
export async function flaky(attempt: number) {
  'use workflow';
  return await failUntil(attempt);
}

async function failForGood(message: string) {
  'use step';
  throw new FatalError(message);
}

/** Fails for good, without a second attempt. */
export async function fatal(message: string) {
  'use workflow';
  await failForGood(message);
}

async function gatedStep(journal: string, gate: string) {
  'use step';
  await appendFile(journal, 'begin\n');
  while (!existsSync(gate)) await new Promise((done) => setTimeout(done, 20));
  await appendFile(journal, 'end\n');
  return getStepMetadata().attempt;
}

async function finish(text: string) {
  'use step';
  return `${text}!`;
}

/**
 * Has a step that notes its begin and end in the file `journal` and goes on for as long as there is no
 * file `gate`, so that a test can cut it off between the two.
 */
export async function gated(journal: string, gate: string) {
  'use workflow';
  const attempt = await gatedStep(journal, gate);
  return { attempt, text: await finish('done') };
}

/** Asks for an approval: a hook, a step that tells about it, and then nothing but the answer. */
export async function approval(token: string, journal: string, gate: string) {
  'use workflow';
  const hook = createHook<string>({ token });
  const attempt = await gatedStep(journal, gate);
  return `${attempt}: ${await hook}`;
}

/** Goes on until there is a file `gate`, and then ends in one of three ways. */
async function endsAs(journal: string, gate: string, end: 'returns' | 'throws' | 'again') {
  'use step';
  await appendFile(journal, 'begin\n');
  while (!existsSync(gate)) await new Promise((done) => setTimeout(done, 20));
  await appendFile(journal, 'end\n');
  if (end === 'throws') throw new FatalError('thrown');
  if (end === 'again') throw new RetryableError('again', { retryAfter: '1s' });
}

/** A step that goes on while its run is cancelled, and one that would come after it. */
export async function cancelledInStep(journal: string, gate: string, end: 'returns' | 'throws' | 'again') {
  'use workflow';
  await endsAs(journal, gate, end).catch(() => undefined);
  return await finish('never');
}

async function pause(milliseconds: number) {
  'use step';
  await new Promise((done) => setTimeout(done, milliseconds));
  return milliseconds;
}

/** Something of everything, over and over, so that whatever happens to the service hits it somewhere. */
export async function busy(rounds: number) {
  'use workflow';
  let total = 0;
  for (let i = 0; i < rounds; i++) {
    const parts = await Promise.all([pause(20), pause(40), pause(60)]);
    await sleep(100);
    total += parts.reduce((a, b) => a + b, 0);
  }
  return total;
}

/** Holds a hook for as long as it lives. */
export async function parked(token: string) {
  'use workflow';
  await createHook({ token });
  return 'resumed';
}
