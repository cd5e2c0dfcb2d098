/** The same for `import`: a default import of a CommonJS module would be an object that holds the function. */
import { createWorld } from './index.js';

export { createWorld };
export default createWorld;
export type * from './index.js';
