// A module without workflows or steps of its own.
import { getStepMetadata, getWorkflowMetadata } from 'workflow';

export function seenByHelper(label: string) {
  const { stepId, attempt } = getStepMetadata();
  return { label, runId: getWorkflowMetadata().workflowRunId, stepId, attempt };
}
