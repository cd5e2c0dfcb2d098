// What only SDK v5 has.
import { createHook, setAttributes } from 'workflow';

async function fromStep() {
  'use step';
  await setAttributes({ step: 'wrote this' });
}

export async function attributes() {
  'use workflow';
  await setAttributes({ phase: 'one', gone: 'soon' });
  await setAttributes({ phase: 'two' });
  await setAttributes({ gone: undefined });
  await fromStep();
  return 'done';
}

export async function badAttribute(value: string) {
  'use workflow';
  try {
    await setAttributes({ key: value });
  } catch (error) {
    return (error as Error).message;
  }
}

async function reject() {
  'use step';
  throw Object.assign(new TypeError('typed', { cause: new RangeError('deep down') }), { fatal: true });
}

export async function errorWithCause() {
  'use workflow';
  try {
    await reject();
  } catch (error) {
    const { name, message, cause } = error as Error;
    return { name, message, cause: `${(cause as Error)?.name}: ${(cause as Error)?.message}` };
  }
}

export async function retainedHook(token: string) {
  'use workflow';
  return await createHook<string>({ token, experimental_minRetention: '1h' });
}

export async function claimCheck(token: string) {
  'use workflow';
  const hook = createHook<string>({ token });
  const conflict = await hook.getConflict();
  return conflict === null ? 'free' : conflict.runId;
}
