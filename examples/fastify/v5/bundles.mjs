// What `workflow build` made of the workflows. SDK v5 runs steps in its flow route.
import * as flow from './.well-known/workflow/v1/flow.mjs';

export { flow };
export const step = flow;
