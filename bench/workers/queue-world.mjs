// @ts-check
// One queue measurement through @world-redis/client, as an app's process makes it.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { measureQueue } from './queue.mjs';

const { createWorld } = createRequire(join(process.cwd(), 'index.js'))('@world-redis/client');

await measureQueue(async (stubUrl) => {
  const world = createWorld({ baseUrl: stubUrl, deploymentId: 'bench' });
  await world.start();
  return {
    // Each message is of a run of its own: wake-ups of one run collapse, and no two of these do.
    add: async (name, message, delayMs) => (await world.queue(`__wkf_workflow_${name}`, message, { delaySeconds: delayMs && delayMs / 1000 })).messageId,
    close: () => world.close(),
  };
});
