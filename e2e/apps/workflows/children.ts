// Runs that start other runs, from a step.
import { getRun, start } from 'workflow/api';

async function timesTwo(n: number) {
  'use step';
  return n * 2;
}

export async function child(n: number) {
  'use workflow';
  return await timesTwo(n);
}

async function startChild(n: number) {
  'use step';
  return (await start(child, [n])).runId;
}

async function resultOf(runId: string) {
  'use step';
  return (await getRun(runId).returnValue) as number;
}

export async function parent(n: number) {
  'use workflow';
  const childId = await startChild(n);
  return { childId, result: await resultOf(childId) };
}
