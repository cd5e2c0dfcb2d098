// @ts-check
// The calls on runs and their lists, one after the other, on a store of any size.

import { median } from '../lib/stats.mjs';
import { bytes, create, openWorld, report, runId, settings } from './world.mjs';

const world = openWorld();
const { n } = settings;
const name = 'workflow//./bench//fill7';
const limit = 20;

const { data } = await world.runs.list({ pagination: { limit: 100 }, resolveData: 'none' });
const known = data[50].runId;
const calls = {
  get: () => world.runs.get(known),
  list: () => world.runs.list({ pagination: { limit } }),
  'by-name': () => world.runs.list({ workflowName: name, pagination: { limit } }),
  // Ten, because a store of 1,000 has no more running ones.
  'by-status': () => world.runs.list({ status: 'running', pagination: { limit: 10 } }),
  'by-both': () => world.runs.list({ workflowName: name, status: 'completed', pagination: { limit } }),
  create: () => create(world, runId(), { eventType: 'run_created', eventData: { deploymentId: 'bench', workflowName: name, input: bytes(32), executionContext: {} } }),
};

const result = {};
for (const [id, call] of Object.entries(calls)) {
  const took = [];
  for (let i = 0; i < n + 10; i++) {
    const began = performance.now();
    await call();
    if (i >= 10) took.push(performance.now() - began);
  }
  result[id] = median(took);
}
// A page in the middle of the list: read some pages, then time the next one.
let cursor;
const pages = [];
for (let i = 0; i < n; i++) {
  const began = performance.now();
  const page = await world.runs.list({ pagination: { limit, cursor } });
  pages.push(performance.now() - began);
  if (!page.hasMore) break;
  cursor = page.cursor;
}
result.page = median(pages.slice(1));
report(result);
