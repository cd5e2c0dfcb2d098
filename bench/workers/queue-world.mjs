// @ts-check
// One queue measurement with @world-redis/client, as in an app's process.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { measureQueue } from './queue.mjs';

const { createWorld } = createRequire(join(process.cwd(), 'index.js'))('@world-redis/client');

await measureQueue(async (stubUrl) => {
  const world = createWorld({ baseUrl: stubUrl, deploymentId: 'bench' });
  await world.start();
  return {
    // Each message belongs to its own run, because wake-ups of one run are merged.
    add: async (name, message, delayMs) => (await world.queue(`__wkf_workflow_${name}`, message, { delaySeconds: delayMs && delayMs / 1000 })).messageId,
    close: () => world.close(),
  };
});
