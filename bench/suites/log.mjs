// @ts-check
// Long logs: the cost of an event after many others, and the time to read all of them.
import { at } from '../lib/places.mjs';
import { median } from '../lib/stats.mjs';
import { worlds } from '../lib/worlds.mjs';
import { worldJob } from './worldJob.mjs';

const peer = 'world-redis-bullmq';
const list = (length) => ({ id: `list-${length}`, title: `read a log of ${length.toLocaleString('en-US')} events`, unit: 'ms', better: 'less', peer });

export const log = {
  name: 'log',
  title: 'Long logs',
  sizes: {
    full: { lengths: [1_000, 10_000, 25_000], rounds: 3 },
    quick: { lengths: [1_000], rounds: 1 },
    tiny: { lengths: [300], rounds: 1 },
  },
  contenders: ['world-redis', 'world-redis-bullmq'],
  metrics: [
    { id: 'early', title: 'an event around the 100th', unit: 'ms', better: 'less', peer },
    { id: 'late', title: 'an event around the last but 100th', unit: 'ms', better: 'less', peer },
    { id: 'growth', title: 'an event around the 10,000th against one around the 10th', unit: '×', better: 'less', peer, bars: [{ max: 1.2 }] },
    ...[1_000, 10_000, 25_000].map(list),
  ],
  async round({ contender, size }) {
    const { costs, lists } = await at(worlds[contender].place(), (place) => worldJob('log', contender, place, { lengths: size.lengths }));
    const around = (n) => median(costs.slice(n - 60, n + 60));
    const result = { early: around(100), late: around(costs.length - 100) };
    // The first events also include warming up code and connections, so the 10th is taken from the events after them.
    if (costs.length >= 10_060) result.growth = around(10_000) / around(100);
    for (const [length, ms] of Object.entries(lists)) result[`list-${length}`] = ms;
    return result;
  },
};
