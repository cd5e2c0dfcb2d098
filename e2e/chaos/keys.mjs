// @ts-check
// The keys in Redis when all runs have ended: none without an owner, and none with other prefixes than ours.
import { setTimeout as delay } from 'node:timers/promises';

/** By then the sweeper, and the removal of large runs, are done. */
const PATIENCE = 60_000;

/** Keys that an ended run no longer has, whatever its id. */
const OF_LIVE_RUNS = /^workflow:(hooks:by_token:|hook:[^{]|hook_left:|stream_open:)/;
const OURS = /^(workflow:|asynq:)/;
const MESSAGE = /^asynq:.*:t:/;
const STREAM = /^workflow:stream(?:_meta)?:\{(.*)\}$/;
const RUN = /\{(?:wrun|strm)_([0-9A-Z]{26})/;

export async function checkKeys(testbed, runs, report) {
  const known = new Set(runs.filter((run) => run.status).map(({ runId }) => runId.slice('wrun_'.length)));
  const lost = new Set(runs.filter((run) => run.lostByRedis).map(({ runId }) => runId.slice('wrun_'.length)));
  const deadline = Date.now() + PATIENCE;
  let left;
  do {
    left = await leftKeys(testbed, known);
    if (left.length === 0) return;
    await delay(2000);
  } while (Date.now() < deadline);
  // Keys in other slots than a run that Redis has lost.
  const orphans = left.filter((key) => lost.has(RUN.exec(key)?.[1]));
  report.orphans = orphans.length;
  const others = left.filter((key) => !orphans.includes(key));
  for (const key of others) report.problem('left', undefined, `${key} has no owner`);
}

async function leftKeys(testbed, known) {
  const places = await Promise.all(testbed.masters.map(async (node) => ({ node, keys: await keysOf(node) })));
  const owned = new Set();
  for (const { node, keys } of places) {
    for (const key of keys) {
      // Streams among the values of a run have their own names, and are in its list like all others.
      if (key.startsWith('workflow:streams:by_run:')) {
        for (const name of await node.command('ZRANGE', key, 0, -1)) owned.add(/^\S+/.exec(name)?.[0]);
      }
      const queue = /^(asynq:.*:)completed$/.exec(key)?.[1];
      if (queue) for (const id of await node.command('ZRANGE', key, 0, -1)) owned.add(`${queue}t:${id}`);
    }
  }
  const left = [];
  for (const { node, keys } of places) {
    for (const key of keys) {
      if (!hasOwner(key, known, owned) && (await node.command('TTL', key)) === -1) left.push(key);
    }
  }
  return left;
}

function hasOwner(key, known, owned) {
  if (!OURS.test(key) || OF_LIVE_RUNS.test(key)) return false;
  if (MESSAGE.test(key)) return owned.has(key);
  const stream = STREAM.exec(key)?.[1];
  if (stream) return owned.has(stream);
  const run = RUN.exec(key)?.[1];
  return run === undefined || known.has(run);
}

async function keysOf(node) {
  const keys = new Set();
  let cursor = '0';
  do {
    const [next, some] = await node.command('SCAN', cursor, 'COUNT', 1000);
    for (const key of some) keys.add(key);
    cursor = next;
  } while (cursor !== '0');
  return keys;
}
