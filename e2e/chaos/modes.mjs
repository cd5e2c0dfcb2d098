// @ts-check
// The kinds of Redis for the tests. Each has a static start(), and url, redis, processes and stop().

import { RedisSentinel } from '../lib/redisSentinel.mjs';
import { ReplicatedCluster } from '../lib/replicatedCluster.mjs';
import { Replicated } from './replicated.mjs';
import { Standalone } from './standalone.mjs';

export const MODES = {
  standalone: Standalone,
  sentinel: { start: ({ downAfter }) => Replicated.start(() => RedisSentinel.start({ downAfter })) },
  cluster: { start: ({ downAfter }) => Replicated.start(() => ReplicatedCluster.start({ nodeTimeout: downAfter })) },
};
