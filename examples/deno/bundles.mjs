// What `workflow build` made of the workflows: CommonJS.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
export const flow = require('./.well-known/workflow/v1/flow.js');
export const step = require('./.well-known/workflow/v1/step.js');
