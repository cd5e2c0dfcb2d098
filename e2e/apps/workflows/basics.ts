// Plain steps and what they can see of where they run.
import { fetch, getStepMetadata, getWorkflowMetadata } from 'workflow';
import { seenByHelper } from './basics-helper';

export async function addTen(n: number) {
  'use step';
  return n + 10;
}

/** As official suites do it: three steps that depend on each other. Another file has a workflow of the same name. */
export async function threeAdds(n: number) {
  'use workflow';
  const a = await addTen(n);
  const b = await addTen(a);
  return (await addTen(b)) - 20;
}

async function seenByStep() {
  'use step';
  return { run: { ...getWorkflowMetadata() }, step: { ...getStepMetadata() } };
}

export async function allMetadata() {
  'use workflow';
  return { workflow: { ...getWorkflowMetadata() }, ...(await seenByStep()) };
}

async function askHelper(label: string) {
  'use step';
  return seenByHelper(label);
}

export async function metadataFromHelper(label: string) {
  'use workflow';
  return await askHelper(label);
}

export async function fetches(url: string) {
  'use workflow';
  const response = await fetch(url);
  return { status: response.status, kind: response.headers.get('content-type'), json: await response.json() };
}
