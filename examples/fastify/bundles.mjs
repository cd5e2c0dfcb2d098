// What `workflow build` made of the workflows.
import flow from './.well-known/workflow/v1/flow.js';
import step from './.well-known/workflow/v1/step.js';

export { flow, step };
