// Errors that propagate from a step or a function to the end of a run or to a catch.
import { FatalError, getStepMetadata, RetryableError } from 'workflow';
import { throwFromAfar } from './errors-helper';

function innermost(): never {
  throw new Error('from the innermost function');
}

function inBetween(): never {
  innermost();
}

export async function nestedThrow() {
  'use workflow';
  inBetween();
}

export async function crossFileThrow() {
  'use workflow';
  throwFromAfar('by the workflow');
}

async function failsHere() {
  'use step';
  throw new FatalError('from the step');
}

/** Leaves the stack of what it throws where the app's route finds it. */
async function failsAfar() {
  'use step';
  try {
    throwFromAfar('by the step');
  } catch (error) {
    (globalThis as { thrown?: string }).thrown = (error as Error).stack;
    throw error;
  }
}
failsAfar.maxRetries = 0;

export async function stepErrorCaught(afar: boolean) {
  'use workflow';
  try {
    await (afar ? failsAfar() : failsHere());
    return { caught: false };
  } catch (error) {
    const { message, stack } = error as Error;
    return { caught: true, message, stack };
  }
}

async function laterOn() {
  'use step';
  const { attempt, stepStartedAt } = getStepMetadata();
  if (attempt === 1) throw new RetryableError('come back in ten seconds', { retryAfter: '10s' });
  return { attempt, waited: Date.now() - +stepStartedAt };
}

export async function retryAfterTenSeconds() {
  'use workflow';
  return await laterOn();
}

/** Calls a step that the app does not have, as a run of an older build would. */
function ghost(): Promise<unknown> {
  const useStep = (globalThis as Record<symbol, any>)[Symbol.for('WORKFLOW_USE_STEP')];
  return useStep('step//./workflows/errors//ghost')();
}

export async function unknownStepCaught() {
  'use workflow';
  try {
    await ghost();
  } catch (error) {
    return { caught: true, message: (error as Error).message };
  }
}

export async function unknownStep() {
  'use workflow';
  await ghost();
}
