import { type StepExecution, stepOfCode } from '../sdk/stepContext.js';
import { deliveredStep } from './preload.js';

/**
 * The step that the caller runs for; undefined outside of steps, and where nothing tells. Must be asked before the
 * caller waits for anything.
 */
export function currentStep(): StepExecution | undefined {
  // The SDK opens the streams among a step's arguments outside of its context. In v4 the delivery tells whose they are; for v5
  // see givenStreams.ts.
  return stepOfCode() ?? deliveredStep();
}
