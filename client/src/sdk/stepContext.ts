import type { AsyncLocalStorage } from 'node:async_hooks';

/** One execution of a step. */
export interface StepExecution {
  runId: string;
  stepId: string;
  /** Counted from 1; each execution has its own number. */
  attempt: number;
}

const CONTEXT_STORAGE = Symbol.for('WORKFLOW_STEP_CONTEXT_STORAGE');

interface StepContext {
  stepMetadata?: { stepId?: unknown; attempt?: unknown };
  workflowMetadata?: { workflowRunId?: unknown };
}

/**
 * The step whose code the caller runs in, as the SDK knows it (v4 and v5). Work that a step began stays in its
 * context after its function has returned, so late flushes and closes get the right step.
 */
export function stepOfCode(): StepExecution | undefined {
  const storage = (globalThis as Record<symbol, unknown>)[CONTEXT_STORAGE] as AsyncLocalStorage<StepContext> | undefined;
  const context = storage?.getStore?.();
  const runId = context?.workflowMetadata?.workflowRunId;
  const { stepId, attempt } = context?.stepMetadata ?? {};
  if (typeof runId !== 'string' || typeof stepId !== 'string' || typeof attempt !== 'number') return undefined;
  return { runId, stepId, attempt };
}
