// @ts-check
// Only storage: six events per run through each World's own events.create.
import { at } from '../lib/places.mjs';
import { usedMemory } from '../lib/redis.mjs';
import { attempt } from '../lib/rounds.mjs';
import { median, quantile } from '../lib/stats.mjs';
import { worlds } from '../lib/worlds.mjs';
import { worldJob } from './worldJob.mjs';

const peer = 'world-redis-bullmq';
const big = 100 * 1024;
const huge = 2 * 1024 * 1024;

export const storage = {
  name: 'storage',
  title: 'Storage: six events a run through events.create',
  sizes: {
    full: { alone: 200, many: 3_000, bigAlone: 40, bigMany: 300, huge: 40, memory: 2_000 },
    quick: { contenders: ['world-redis', 'world-redis-bullmq', 'in-memory'], alone: 40, many: 400, bigAlone: 8, bigMany: 64, huge: 10, memory: 400 },
    tiny: { alone: 5, many: 64, bigAlone: 2, bigMany: 16, huge: 2, memory: 100 },
  },
  contenders: Object.keys(worlds),
  metrics: [
    { id: 'one', title: '1 caller, 300 B, p50', unit: 'ms', better: 'less', peer },
    { id: 'one-p99', title: '1 caller, 300 B, p99', unit: 'ms', better: 'less', peer },
    { id: 'many', title: '64 callers, 300 B', unit: 'events/s', better: 'more', peer, bars: [{ peer, min: 1.5 }] },
    { id: 'big-one', title: '1 caller, 100 KB, p50', unit: 'ms', better: 'less', peer },
    { id: 'big-many', title: '64 callers, 100 KB', unit: 'events/s', better: 'more', peer },
    { id: 'huge', title: '1 caller, an event of 2 MB written and read back, p50', unit: 'ms', better: 'less', peer, bars: [{ max: 50 }] },
    { id: 'memory', title: 'Redis memory a run, four payloads of 300 B', unit: 'bytes', better: 'less', peer, bars: [{ peer, max: 0.5 }] },
  ],
  async round({ contender, size, wants }) {
    const result = {};
    const when = async (ids, measure) => {
      if (wants(...ids)) await attempt(result, ids[0], measure);
    };
    const run = (settings) => at(worlds[contender].place(), (place) => worldJob('storage', contender, place, settings));
    await when(['one', 'one-p99'], async () => {
      const { latencies } = await run({ runs: size.alone, callers: 1, size: 300 });
      return { one: median(latencies), 'one-p99': quantile(latencies, 0.99) };
    });
    await when(['many'], async () => ({ many: (await run({ runs: size.many, callers: 64, size: 300 })).perSecond }));
    await when(['big-one'], async () => ({ 'big-one': median((await run({ runs: size.bigAlone, callers: 1, size: big })).latencies) }));
    await when(['big-many'], async () => ({ 'big-many': (await run({ runs: size.bigMany, callers: 64, size: big })).perSecond }));
    await when(['huge'], async () => {
      const { latencies } = await at(worlds[contender].place(), (place) => worldJob('huge', contender, place, { events: size.huge, size: huge }));
      return { huge: median(latencies) };
    });
    await when(['memory'], () => memory(contender, size.memory));
    return result;
  },
};

/** The server's memory after this many runs minus its memory before, as the server reports it: with keys, indexes and everything else. */
async function memory(contender, runs) {
  return at(worlds[contender].place(), async (place) => {
    if (!place.redis) return {};
    const settings = { callers: 16, size: 300, warm: 0 };
    await worldJob('storage', contender, place, { runs: 50, ...settings }); // loads one-time data, such as scripts
    const before = await usedMemory(place.redis);
    await worldJob('storage', contender, place, { runs, ...settings });
    return { memory: ((await usedMemory(place.redis)) - before) / runs };
  });
}
