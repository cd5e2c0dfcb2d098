// @ts-check
// A worker that uses one World at a new place.
import { job } from '../lib/job.mjs';
import { checkInstalled } from '../lib/paths.mjs';
import { worlds } from '../lib/worlds.mjs';

/** Worlds that support only older events. */
const specVersions = { 'workflow-worlds-redis': 2, 'in-memory': 2 };

export function worldJob(worker, world, place, settings) {
  const { package: name } = worlds[world];
  checkInstalled('v4', name);
  return job(worker, 'v4', { package: name, specVersion: specVersions[world], ...settings }, place.env);
}
