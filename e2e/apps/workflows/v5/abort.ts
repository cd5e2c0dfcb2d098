// AbortController across workflow and steps.
import { createHook, FatalError, sleep } from 'workflow';
import { resumeHook } from 'workflow/api';

const natural = 30_000;

/** Looks at the signal every 20 ms; 'finished' only if it is not aborted. */
async function polls(signal: AbortSignal, milliseconds = natural) {
  'use step';
  const until = Date.now() + milliseconds;
  while (Date.now() < until) {
    if (signal.aborted) return { end: 'aborted', reason: signal.reason?.message ?? signal.reason };
    await new Promise((done) => setTimeout(done, 20));
  }
  return { end: 'finished' };
}

/** Waits for the signal's event. */
async function listens(signal: AbortSignal) {
  'use step';
  return await new Promise<string>((done) => {
    const timer = setTimeout(() => done('finished'), natural);
    const abort = () => {
      clearTimeout(timer);
      done('aborted');
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

async function looks(signal: AbortSignal) {
  'use step';
  return { aborted: signal.aborted, reason: signal.reason?.message ?? signal.reason };
}

async function throwsIfAborted(signal: AbortSignal, milliseconds: number) {
  'use step';
  const until = Date.now() + milliseconds;
  do {
    signal.throwIfAborted();
    await new Promise((done) => setTimeout(done, 20));
  } while (Date.now() < until);
  return 'not aborted';
}

async function abortsAfter(controller: AbortController, milliseconds: number, reason: string) {
  'use step';
  await new Promise((done) => setTimeout(done, milliseconds));
  controller.abort(reason);
}

async function fetches(url: string, signal: AbortSignal) {
  'use step';
  return await (await fetch(url, { signal })).text();
}

/** A sleep ends before a step; the step is aborted. */
export async function abortOnTimeout(milliseconds: number) {
  'use workflow';
  const controller = new AbortController();
  const step = polls(controller.signal);
  const first = await Promise.race([step, sleep(milliseconds).then(() => 'timed out')]);
  controller.abort();
  return { first, aborted: controller.signal.aborted, step: (await step).end };
}

export async function abortThree(milliseconds: number) {
  'use workflow';
  const controller = new AbortController();
  const steps = [polls(controller.signal).then(({ end }) => end), listens(controller.signal), listens(controller.signal)];
  await sleep(milliseconds);
  controller.abort();
  return await Promise.all(steps);
}

/** One step aborts the other; the workflow and a later step see it. */
export async function abortFromSibling() {
  'use workflow';
  const controller = new AbortController();
  const [long] = await Promise.all([polls(controller.signal), abortsAfter(controller, 300, 'enough')]);
  return { long, workflow: controller.signal.aborted, later: await looks(controller.signal) };
}

/** Aborted before any step begins, with each kind of reason. */
export async function alreadyAborted(reason?: unknown) {
  'use workflow';
  const controller = new AbortController();
  controller.abort(reason);
  const step = await looks(controller.signal);
  await sleep(100);
  return { step, after: controller.signal.aborted, reason: controller.signal.reason };
}

/** Too late: the step has ended. */
export async function abortAfterCompletion() {
  'use workflow';
  const controller = new AbortController();
  const step = await polls(controller.signal, 0);
  controller.abort('too late');
  return { step, aborted: controller.signal.aborted };
}

export async function abortByHook(token: string) {
  'use workflow';
  const controller = new AbortController();
  const step = polls(controller.signal);
  const { reason } = await createHook<{ reason: string }>({ token });
  controller.abort(reason);
  return await step;
}

/** The signal comes from outside. */
export async function signalAsInput(signal: AbortSignal) {
  'use workflow';
  return { workflow: signal.aborted, step: await looks(signal) };
}

async function pollsLoudly(signal: AbortSignal, token: string) {
  'use step';
  await resumeHook(token, 'polling');
  const until = Date.now() + natural;
  while (!signal.aborted && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
  return signal.aborted ? `aborted: ${signal.reason}` : 'finished';
}

async function listensLoudly(signal: AbortSignal, token: string) {
  'use step';
  const end = new Promise<string>((done) => {
    const timer = setTimeout(() => done('finished'), natural);
    const abort = () => {
      clearTimeout(timer);
      done(`aborted: ${signal.reason}`);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  await resumeHook(token, 'listening');
  return await end;
}

/** Two steps acknowledge that they have the outsider's signal, each by a hook of its own, and go on until it is aborted. */
export async function outsideSignal(token: string, signal: AbortSignal) {
  'use workflow';
  const hooks = ['polls', 'listens'].map((name) => createHook<string>({ token: `${token}/${name}` }));
  for (const hook of hooks) await hook.getConflict();
  const steps = [pollsLoudly(signal, hooks[0].token), listensLoudly(signal, hooks[1].token)];
  const acknowledged = await Promise.all(hooks);
  return { acknowledged, steps: await Promise.all(steps) };
}

/** throwIfAborted in a step is fatal: at once, or in the middle. */
export async function throwIfAbortedInStep(milliseconds: number) {
  'use workflow';
  const controller = new AbortController();
  if (milliseconds === 0) controller.abort();
  const step = throwsIfAborted(controller.signal, natural).then(
    () => 'not aborted',
    (error: Error) => ({ fatal: FatalError.is(error), message: error.message }),
  );
  if (milliseconds > 0) {
    await sleep(milliseconds);
    controller.abort();
  }
  return await step;
}

/** A fetch that is aborted while it runs, without a catch. */
export async function abortedFetch(url: string, milliseconds: number) {
  'use workflow';
  const controller = new AbortController();
  const step = fetches(url, controller.signal);
  step.catch(() => undefined);
  await sleep(milliseconds);
  controller.abort();
  return await step;
}

async function fetchesUnlessAborted(url: string, signal: AbortSignal) {
  'use step';
  const began = Date.now();
  try {
    return { text: await (await fetch(url, { signal })).text() };
  } catch (error) {
    return { cut: (error as Error).name, after: Date.now() - began };
  }
}

/** The same, and the step says how it ended. */
export async function cancelledFetch(url: string, milliseconds: number) {
  'use workflow';
  const controller = new AbortController();
  const step = fetchesUnlessAborted(url, controller.signal);
  await sleep(milliseconds);
  controller.abort();
  return await step;
}

/** A sleep that is not awaited aborts the awaited step. */
export async function voidSleep(milliseconds: number) {
  'use workflow';
  const controller = new AbortController();
  void sleep(milliseconds).then(() => controller.abort('time is up'));
  return await polls(controller.signal);
}

/** AbortSignal.any, made in the workflow and in a step. */
export async function anySignal() {
  'use workflow';
  const [a, b] = [new AbortController(), new AbortController()];
  const either = AbortSignal.any([a.signal, b.signal]);
  const step = pollsEither(a.signal, b.signal);
  await sleep(300);
  b.abort('the second');
  return { workflow: either.aborted, reason: either.reason, step: await step };
}

async function pollsEither(a: AbortSignal, b: AbortSignal) {
  'use step';
  const either = AbortSignal.any([a, b]);
  const until = Date.now() + natural;
  while (!either.aborted && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
  return either.reason;
}

/** A listener in the workflow, and what the workflow does after the abort, always in the same order. */
export async function listenerInWorkflow() {
  'use workflow';
  const order: string[] = [];
  const controller = new AbortController();
  controller.signal.addEventListener('abort', () => order.push('listener'));
  order.push('before-abort');
  controller.abort();
  order.push('after-abort');
  await sleep(100);
  order.push(String((await looks(controller.signal)).aborted));
  return order;
}

/**
 * The same beside a hook: the listener is there before the hook or after it, and the abort comes as soon as the payload,
 * or a step later. The long sleep at the end makes a replay of it all.
 */
export async function listenerBesideHook(token: string, listenFirst: boolean, stepBetween: boolean) {
  'use workflow';
  const order: string[] = [];
  const controller = new AbortController();
  const listen = () => controller.signal.addEventListener('abort', () => order.push('listener'));
  if (listenFirst) listen();
  const hook = createHook<string>({ token });
  if (!listenFirst) listen();
  const step = polls(controller.signal);
  order.push(await hook);
  if (stepBetween) order.push(await takes('step'));
  controller.abort();
  order.push('after-abort');
  order.push((await step).end);
  await sleep('3s');
  return order;
}

async function takes(branch: string) {
  'use step';
  return branch;
}

/** Which branch it takes depends on the signal, which a step or the workflow itself has aborted; replays follow it. */
export async function branchOnAbort(byStep: boolean) {
  'use workflow';
  const controller = new AbortController();
  const before = await takes(controller.signal.aborted ? 'aborted' : 'not yet');
  if (byStep) await abortsAfter(controller, 0, 'enough');
  else controller.abort('enough');
  await sleep(200);
  const after = await takes(controller.signal.aborted ? 'aborted' : 'not yet');
  await sleep(100);
  return { before, after, reason: controller.signal.reason };
}
