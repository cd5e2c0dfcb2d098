// The kinds of Redis that the harness can stand on. Each has a static start(), and url, redis, processes and stop().
import { Standalone } from './standalone.mjs';

export const MODES = { standalone: Standalone };
