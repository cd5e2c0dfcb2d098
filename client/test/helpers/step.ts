/** The SDK's own way to know which step a piece of code belongs to, as v4 and v5 leave it in the process. */
import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage<unknown>();
Object.assign(globalThis, { [Symbol.for('WORKFLOW_STEP_CONTEXT_STORAGE')]: storage });

/** Runs `code` as that of a step. */
export function asStep<T>(workflowRunId: string, stepId: string, attempt: number, code: () => T): T {
  return storage.run({ stepMetadata: { stepName: 's', stepId, attempt }, workflowMetadata: { workflowRunId } }, code);
}
