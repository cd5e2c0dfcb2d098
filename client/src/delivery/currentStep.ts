import { type StepExecution, stepOfCode } from '../sdk/stepContext.js';
import { deliveredStep } from './preload.js';

/**
 * The step that the caller runs for; undefined outside of steps, or if it is unknown. It must be called before the
 * caller awaits anything.
 */
export function currentStep(): StepExecution | undefined {
  // The SDK opens the streams among a step's arguments outside of its context. In v4 the delivery knows the step; for
  // v5 see givenStreams.ts.
  return stepOfCode() ?? deliveredStep();
}
