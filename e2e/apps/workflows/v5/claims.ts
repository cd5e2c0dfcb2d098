// Hooks as claims: runs that look who holds a token before they wait for anything, and what they then do about it.
import { createHook, sleep } from 'workflow';
import { getRun, resumeHook } from 'workflow/api';

async function pause(milliseconds: number, value: string) {
  'use step';
  await new Promise((done) => setTimeout(done, milliseconds));
  return value;
}

async function stamped(milliseconds: number) {
  'use step';
  const began = Date.now();
  await new Promise((done) => setTimeout(done, milliseconds));
  return { began, ended: Date.now() };
}

/** Looks only after a step. */
export async function claimAfterStep(token: string) {
  'use workflow';
  const step = await pause(0, 'before');
  const conflict = await createHook({ token }).getConflict();
  return { conflict: conflict && conflict.runId, step };
}

/** Checks while a step is running. */
export async function claimBesideStep(token: string) {
  'use workflow';
  const step = pause(100, 'beside');
  const conflict = await createHook({ token }).getConflict();
  return { conflict: conflict && conflict.runId, step: await step };
}

/** Checks while a slow step is running, and begins another step immediately. */
export async function claimThenStepBesideSlowOne(token: string, slow: number) {
  'use workflow';
  const first = stamped(slow);
  const conflict = await createHook({ token }).getConflict();
  const [a, b] = await Promise.all([first, stamped(0)]);
  return { conflict: conflict && conflict.runId, tookSlow: a.ended - a.began, before: a.ended - b.began };
}

/** The holder waits for one payload; a second run returns the holder and its status. */
export async function claimOrTell(token: string) {
  'use workflow';
  const hook = createHook<string>({ token });
  const owner = await hook.getConflict();
  if (owner) return { owner: owner.runId, status: await owner.status };
  return { payload: await hook };
}

async function statusIn(runId: string) {
  'use step';
  return await getRun(runId).status;
}

/** The same, but a step of the second run asks. */
export async function claimOrTellFromStep(token: string) {
  'use workflow';
  const owner = await createHook({ token }).getConflict();
  return owner && { owner: owner.runId, status: await statusIn(owner.runId) };
}

/** A lock: holds the token for a while and never takes a payload. */
export async function mutex(token: string, milliseconds: number) {
  'use workflow';
  using lock = createHook({ token });
  const owner = await lock.getConflict();
  if (owner) return { owner: owner.runId };
  await sleep(milliseconds);
  return { owner: null };
}

/** Keeps its token for a minute, and ends at once. */
export async function keepsToken(token: string) {
  'use workflow';
  const conflict = await createHook({ token, experimental_minRetention: '1m' }).getConflict();
  return conflict ? { owner: conflict.runId, status: await conflict.status } : 'mine';
}

/** Whoever comes second waits for the result of the first. */
export async function adoptResult(token: string) {
  'use workflow';
  const hook = createHook<string>({ token });
  const owner = await hook.getConflict();
  if (owner) return await owner.returnValue;
  return { result: await hook, of: 'the owner' };
}

async function forward(token: string, payload: string) {
  'use step';
  return (await resumeHook(token, payload)).runId;
}

/** Whoever comes second hands its payload to the first. */
export async function signalOwner(token: string, payload: string) {
  'use workflow';
  const hook = createHook<string>({ token });
  const owner = await hook.getConflict();
  if (owner) return { forwardedTo: await forward(token, payload), owner: owner.runId };
  return { got: await hook };
}

/** Whoever comes second cancels the first and takes the token. */
export async function supersede(token: string) {
  'use workflow';
  for (let tries = 0; tries < 5; tries++) {
    const hook = createHook<string>({ token });
    const owner = await hook.getConflict();
    if (!owner) return { got: await hook };
    await owner.cancel();
  }
  return 'gave up';
}

/** Two payloads, beside a sleep of a day, and only then a step. */
export async function hookBesideSleepThenStep(token: string) {
  'use workflow';
  void sleep('1d');
  const payloads: number[] = [];
  for await (const n of createHook<number>({ token })) {
    payloads.push(n);
    if (payloads.length === 2) break;
  }
  return { payloads, step: await pause(0, 'processed') };
}

/** Takes the same token three times in its own name, without a step between. */
export async function sameTokenUsing(token: string) {
  'use workflow';
  const payloads: string[] = [];
  for (let i = 0; i < 3; i++) {
    using hook = createHook<string>({ token });
    payloads.push(await hook);
  }
  return payloads;
}

/** The same, checking each time whether another run holds the token: never itself. */
export async function sameTokenLooking(token: string) {
  'use workflow';
  const payloads: string[] = [];
  for (let i = 0; i < 3; i++) {
    const hook = createHook<string>({ token });
    const owner = await hook.getConflict();
    if (owner) return `held by ${owner.runId}`;
    payloads.push(await hook);
    hook.dispose();
  }
  return payloads;
}

/** A hook with metadata for those who look up its token. */
export async function hookWithMetadata(token: string, note: unknown) {
  'use workflow';
  const seen: unknown[] = [];
  for await (const payload of createHook<{ last?: boolean }>({ token, metadata: { note } })) {
    seen.push(payload);
    if (payload.last) break;
  }
  return seen;
}
