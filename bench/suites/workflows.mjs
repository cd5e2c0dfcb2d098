// @ts-check
// Whole workflows with the real SDK, from start() to completed.
import { setTimeout as delay } from 'node:timers/promises';
import { withApp } from '../lib/app.mjs';
import { at } from '../lib/places.mjs';
import { idleLoad } from '../lib/redis.mjs';
import { attempt } from '../lib/rounds.mjs';
import { median, quantile } from '../lib/stats.mjs';
import { worlds } from '../lib/worlds.mjs';

/** After this time nothing of earlier runs is in progress, such as a second check for messages of ended runs. */
const SETTLE_MS = 4_000;

/** Events of the replayed logs, by metric. */
const replays = { 'replay-1000': 1_000, 'replay-10000': 10_000, 'replay-25000': 25_000 };
/** A longer log is replayed only in the first round: building one takes minutes. */
const LONGEST_OF_EACH_ROUND = 1_000;
/** A log of up to 10,000 events must be built and replayed within this time; a longer one has the usual limit. */
const LOG_MS = 120_000;

const ms = (id, title, more) => ({ id, title, unit: 'ms', better: 'less', ...more });

const sizes = {
  full: { warm: 40, single: 60, twenty: 300, seq: 4, par: 4, naps: 20, hooks: 20, first: 20, chunks: 5_000, replays, idle: 4 },
  quick: { warm: 10, single: 20, twenty: 60, seq: 1, par: 1, naps: 5, hooks: 5, first: 5, chunks: 1_000, idle: 1 },
  tiny: { warm: 2, single: 3, twenty: 10, seq: 1, par: 1, naps: 2, hooks: 2, first: 2, chunks: 200, replays: { 'replay-1000': 60 }, idle: 1 },
};

/**
 * `bars` are what its ratios must keep.
 *
 * @typedef {{ peer?: string, max?: number, min?: number }[]} Bars
 * @param {object} suite
 * @param {string[]} [suite.quick]
 * @param {string} suite.name
 * @param {string} suite.title
 * @param {string} suite.sdk
 * @param {string} suite.peer
 * @param {string[]} suite.contenders
 * @param {Partial<Record<'addition1' | 'addition20' | 'seq25' | 'par50' | 'first' | 'chunks', Bars>>} [suite.bars]
 */
function workflowSuite({ quick, name, title, sdk, peer, contenders, bars = {} }) {
  return {
    name,
    title,
    sizes: { ...sizes, quick: { ...sizes.quick, contenders: quick } },
    contenders,
    metrics: [
      ms('addition1', 'addition ×1, p50', { peer, bars: bars.addition1 }),
      ms('addition1-p99', 'addition ×1, p99', { peer }),
      { id: 'addition20', title: 'addition ×20', unit: 'runs/s', better: 'more', peer, bars: bars.addition20 },
      ms('addition20-p50', 'addition ×20, p50', { peer }),
      ms('seq25', 'seq 25, p50', { peer, bars: bars.seq25 }),
      ms('par50', 'par 50, p50', { peer, bars: bars.par50 }),
      ms('sleep', 'sleep of 1 s ends late by, p50', { peer }),
      ms('sleep-max', 'sleep of 1 s ends late by, most', { peer, bars: [{ max: 100 }] }),
      ms('hook', 'hook resume to completed, p50', { peer }),
      ms('first-chunk', 'start to first chunk, p50', { peer, bars: bars.first }),
      { id: 'chunks', title: 'one step writes 100-byte chunks, one reads', unit: 'chunks/s', better: 'more', peer, bars: bars.chunks },
      { id: 'idle', title: 'Redis commands while the app idles', unit: '/s', better: 'less', peer },
      ...Object.entries(replays).map(([id, n]) => ms(id, `hook resume with a log of ${n.toLocaleString('en-US')} events`, { peer })),
    ],
    round: ({ contender, size, wants, round }) => at(worlds[contender].place(), (place) => withApp(sdk, contender, place, (app) => measureApp({ app, place, size, wants, round }))),
  };
}

async function measureApp({ app, place, size, wants, round }) {
  const result = {};
  const flood = (workflow, args, n, conc = 1) => app.measure('flood', { workflow, args, n, conc });
  const when = async (ids, measure) => {
    if (wants(...ids)) await attempt(result, ids[0], measure);
  };
  await flood('addition', [1, 2], size.warm, 5);
  await when(['addition1', 'addition1-p99'], async () => {
    const { latencies } = await flood('addition', [1, 2], size.single);
    return { addition1: median(latencies), 'addition1-p99': quantile(latencies, 0.99) };
  });
  await when(['addition20', 'addition20-p50'], async () => {
    const { perSecond, latencies } = await flood('addition', [1, 2], size.twenty, 20);
    return { addition20: perSecond, 'addition20-p50': median(latencies) };
  });
  await when(['seq25'], async () => ({ seq25: median((await flood('seq', [25], size.seq)).latencies) }));
  await when(['par50'], async () => ({ par50: median((await flood('par', [50], size.par)).latencies) }));
  await when(['sleep', 'sleep-max'], async () => {
    const { latencies } = await app.measure('naps', { n: size.naps, ms: 1000 });
    return { sleep: median(latencies), 'sleep-max': Math.max(...latencies) };
  });
  await when(['hook'], async () => ({ hook: median((await app.measure('hooks', { n: size.hooks })).latencies) }));
  await when(['first-chunk'], async () => ({ 'first-chunk': median((await app.measure('firstChunk', { n: size.first })).latencies) }));
  await when(['chunks'], async () => ({ chunks: (await app.measure('chunks', { count: size.chunks, size: 100 })).perSecond }));
  if (place.redis) {
    await when(['idle'], async () => {
      await delay(SETTLE_MS);
      return { idle: (await idleLoad(place.redis, size.idle)).commands };
    });
  }
  for (const [id, events] of Object.entries(size.replays ?? {})) {
    if (round > 0 && events > LONGEST_OF_EACH_ROUND) continue;
    await when([id], async () => ({ [id]: (await app.measure('replay', { events }, events > 10_000 ? undefined : LOG_MS)).latencies[0] }));
    if (result[id] instanceof Error) break; // a longer one takes no less
  }
  return result;
}

export const workflowsV4 = workflowSuite({
  name: 'workflows-v4',
  title: 'Whole workflows, SDK 4.8.9',
  sdk: 'v4',
  peer: 'world-redis-bullmq',
  quick: ['world-redis', 'world-redis-bullmq', 'in-memory'],
  contenders: ['world-redis', 'world-redis-bullmq', 'workflow-worlds-redis', 'world-local', 'world-postgres', 'in-memory'],
  bars: {
    addition1: [{ peer: 'world-redis-bullmq', max: 0.6 }],
    addition20: [{ peer: 'world-redis-bullmq', min: 1.3 }],
    seq25: [{ peer: 'world-redis-bullmq', max: 0.65 }],
    par50: [
      { peer: 'world-redis-bullmq', max: 0.35 },
      { peer: 'in-memory', max: 1 },
    ],
    first: [{ peer: 'world-redis-bullmq', max: 1 }],
    chunks: [{ min: 5_000 }, { peer: 'world-redis-bullmq', min: 1 }],
  },
});

const beatsLocal = [{ peer: 'world-local', max: 0.7 }];

export const workflowsV5 = workflowSuite({
  name: 'workflows-v5',
  title: 'Whole workflows, SDK 5.0.0-beta.55',
  sdk: 'v5',
  peer: 'world-local',
  contenders: ['world-redis', 'world-local'],
  bars: { addition1: beatsLocal, seq25: beatsLocal, par50: beatsLocal },
});
