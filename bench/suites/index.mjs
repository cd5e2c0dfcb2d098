// Every suite, in the order in which they run.
import { queue } from './queue.mjs';
import { workflowsV4, workflowsV5 } from './workflows.mjs';

export const suites = [queue, workflowsV4, workflowsV5];
