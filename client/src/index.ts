/**
 * The client of world-redis: a World of the Vercel Workflow SDK that stores nothing itself and uses the service for
 * everything. Set `WORKFLOW_TARGET_WORLD=@world-redis/client`.
 */
import { createWorld } from './world/world.js';

export { createWorld };
export default createWorld;
export type { WorldOptions } from './config.js';
export type * from './types.js';
