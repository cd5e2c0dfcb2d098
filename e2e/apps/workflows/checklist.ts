// Behaviours that the SDK promises whatever World is behind it.
import { createHook, createWebhook, FatalError, getStepMetadata, getWorkflowMetadata, sleep } from 'workflow';

async function after(milliseconds: number, value: string | number) {
  'use step';
  await new Promise((done) => setTimeout(done, milliseconds));
  return value;
}

async function failing(message: string) {
  'use step';
  throw new FatalError(message);
}

async function crashUntil(attempt: number) {
  'use step';
  const now = getStepMetadata().attempt;
  if (now < attempt) throw new Error(`attempt ${now}`);
  return now;
}

async function once() {
  'use step';
  throw new Error('no second chance');
}
once.maxRetries = 0;

async function stepMetadata() {
  'use step';
  const { stepId, attempt } = getStepMetadata();
  const { workflowRunId, workflowStartedAt } = getWorkflowMetadata();
  return { stepId, attempt, workflowRunId, startedAt: +workflowStartedAt };
}

export async function zeroByte() {
  'use workflow';
  return await after(0, 'a\0b');
}

export async function metadata() {
  'use workflow';
  const { workflowRunId, workflowStartedAt } = getWorkflowMetadata();
  return { workflow: { workflowRunId, startedAt: +workflowStartedAt }, step: await stepMetadata() };
}

export async function allOfThree() {
  'use workflow';
  return (await Promise.all([after(300, 'A'), after(0, 'B'), after(150, 'C')])).join('');
}

export async function raceFastWins() {
  'use workflow';
  return await Promise.race([after(3000, 'A'), after(100, 'B'), after(4000, 'C')]);
}

export async function anySkipsFailure() {
  'use workflow';
  return await Promise.any([failing('no'), after(100, 'B'), after(3000, 'C')]);
}

export async function raceUntilEmpty() {
  'use workflow';
  const open = new Map([0, 1, 2, 3, 4].map((n) => [n, after(n * 200, n)]));
  const seen: number[] = [];
  while (open.size > 0) {
    const n = (await Promise.race(open.values())) as number;
    seen.push(n);
    open.delete(n);
  }
  return seen.sort();
}

export async function stepAgainstSleep(step: number, nap: number) {
  'use workflow';
  return await Promise.race([after(step, 'step'), sleep(nap).then(() => 'sleep')]);
}

export async function tenSleeps() {
  'use workflow';
  await Promise.all(Array.from({ length: 10 }, () => sleep(1000)));
  return 'awake';
}

export async function sleepInLoop() {
  'use workflow';
  const sums: number[] = [];
  for (let i = 1; i <= 3; i++) {
    sums.push((await after(0, i)) as number);
    await sleep(1000);
  }
  return sums;
}

export async function dayLongSleep() {
  'use workflow';
  let woke = false;
  void sleep('1d').then(() => (woke = true));
  const values: unknown[] = [];
  for (const n of [3, 6, 10]) values.push(await after(0, n));
  return { values, woke };
}

export async function crashes(attempt: number) {
  'use workflow';
  return await crashUntil(attempt);
}

export async function noRetries() {
  'use workflow';
  await once();
}

export async function fatalCaught() {
  'use workflow';
  try {
    await failing('caught me');
  } catch (error) {
    return { fatal: FatalError.is(error), message: (error as Error).message };
  }
}

export async function throwsItself() {
  'use workflow';
  throw new Error('thrown by the workflow');
}

export async function disposeThenSleep(token: string) {
  'use workflow';
  const hook = createHook<string>({ token });
  const payload = await hook;
  hook.dispose();
  await sleep(2000);
  return payload;
}

/** Takes the same token three times, one after the other. */
export async function sameTokenAgain(token: string) {
  'use workflow';
  const payloads: string[] = [];
  for (let i = 0; i < 3; i++) {
    const hook = createHook<string>({ token });
    payloads.push(await hook);
    hook.dispose();
    await after(0, 'between');
  }
  return payloads;
}

export async function hookBesideSleep(token: string) {
  'use workflow';
  void sleep('1d');
  const done: unknown[] = [];
  for await (const n of createHook<number>({ token })) {
    done.push(await after(0, n));
    if (done.length === 3) break;
  }
  return done;
}

/** Ten rounds of two steps side by side and then a webhook of its own. */
export async function stepsThenWebhook(rounds: number) {
  'use workflow';
  for (let i = 0; i < rounds; i++) {
    await Promise.all([after(50, 'a'), after(50, 'b')]);
    await createWebhook();
  }
  return rounds;
}
