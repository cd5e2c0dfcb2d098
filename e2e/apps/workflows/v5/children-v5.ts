// Runs that start other runs, from the workflow itself.
import { createHook } from 'workflow';
import { Run, resumeHook, start } from 'workflow/api';

async function timesTwo(n: number) {
  'use step';
  return n * 2;
}

export async function leaf(n: number) {
  'use workflow';
  return await timesTwo(n);
}

async function startLeaf(n: number) {
  'use step';
  return await start(leaf, [n]);
}

async function finish(run: Run<number>) {
  'use step';
  return { runId: run.runId, isRun: run instanceof Run, value: await run.returnValue };
}

/** Hands the Run itself from a step to the workflow and on to another step. */
export async function runObject(n: number) {
  'use workflow';
  const run = await startLeaf(n);
  return { runId: run.runId, isRun: run instanceof Run, finished: await finish(run), value: await run.returnValue };
}

async function report(token: string, value: number) {
  'use step';
  await resumeHook(token, { value });
}

export async function reportingChild(token: string, n: number) {
  'use workflow';
  await report(token, n * 3);
}

/** Starts a run and waits until that resumes its hook. */
export async function hookBack(token: string, n: number) {
  'use workflow';
  const hook = createHook<{ value: number }>({ token });
  const { runId } = await start(reportingChild, [token, n]);
  return { runId, value: (await hook).value };
}

/** A tree of runs, each of which waits for the two that it started. */
export async function fibonacci(n: number): Promise<number> {
  'use workflow';
  if (n < 2) return n;
  const runs = await Promise.all([start(fibonacci, [n - 1]), start(fibonacci, [n - 2])]);
  const [a, b] = await Promise.all(runs.map((run) => run.returnValue));
  return (a as number) + (b as number);
}
