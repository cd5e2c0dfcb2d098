// @ts-check
// The measured Worlds: the package by which an app loads each, and where it keeps its data. Every World runs with its
// defaults, as its README says.
import { folderPlace, noPlace, postgresPlace, redisPlace, servicePlace } from './places.mjs';

export const worlds = {
  'world-redis': { package: '@world-redis/client', place: servicePlace },
  'world-redis-bullmq': { package: '@fantasticfour/world-redis-bullmq', place: redisPlace },
  'workflow-worlds-redis': { package: '@workflow-worlds/redis', place: redisPlace },
  'world-local': { package: '@workflow/world-local', target: 'local', place: folderPlace },
  'world-postgres': { package: '@workflow/world-postgres', place: postgresPlace },
  // The lower bound: no network, no disk, no other process.
  'in-memory': { package: '@workflow-worlds/starter', place: noPlace },
};

/** The value of WORKFLOW_TARGET_WORLD. */
export const targetOf = (name) => worlds[name].target ?? worlds[name].package;
