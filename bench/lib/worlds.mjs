// @ts-check
// The Worlds that are measured: under which name an app loads each, and where it keeps its data. Every World runs with
// its own defaults, as its README tells users to run it.
import { folderPlace, noPlace, postgresPlace, redisPlace, servicePlace } from './places.mjs';

export const worlds = {
  'world-redis': { package: '@world-redis/client', place: servicePlace },
  'world-redis-bullmq': { package: '@fantasticfour/world-redis-bullmq', place: redisPlace },
  'workflow-worlds-redis': { package: '@workflow-worlds/redis', place: redisPlace },
  'world-local': { package: '@workflow/world-local', target: 'local', place: folderPlace },
  'world-postgres': { package: '@workflow/world-postgres', place: postgresPlace },
  // The floor: no network, no disk, no other process.
  'in-memory': { package: '@workflow-worlds/starter', place: noPlace },
};

/** What WORKFLOW_TARGET_WORLD must say. */
export const targetOf = (name) => worlds[name].target ?? worlds[name].package;
