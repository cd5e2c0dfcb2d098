// @ts-check
// A store with 1,000,000 runs compared with one with 1,000. Filling it takes minutes and about two gigabytes of
// memory, so it is part of the full scale; otherwise it runs on request: --only million.
import { load } from '../lib/load.mjs';
import { at, servicePlace } from '../lib/places.mjs';
import { usedMemory } from '../lib/redis.mjs';
import { worldJob } from './worldJob.mjs';

const small = 'world-redis, few runs';
const large = 'world-redis, many runs';
const bars = [{ of: large, peer: small, max: 1.5 }];
const ms = (id, title) => ({ id, title, unit: 'ms', better: 'less', peer: small, bars });

export const million = {
  name: 'million',
  title: '1,000,000 runs in the store (many) beside 1,000 (few)',
  fullOnly: true,
  sizes: {
    full: { [small]: 1_000, [large]: 1_000_000, calls: 200, rounds: 1 },
    quick: { [small]: 1_000, [large]: 50_000, calls: 50, rounds: 1 },
    tiny: { [small]: 300, [large]: 2_000, calls: 10, rounds: 1 },
  },
  contenders: [small, large],
  metrics: [
    ms('get', 'get a run, p50'),
    ms('list', 'newest page of 20, p50'),
    ms('page', 'further pages of 20, p50'),
    ms('by-name', 'page of one workflow, p50'),
    ms('by-status', 'page of 10 of one status, p50'),
    ms('by-both', 'page of one workflow and status, p50'),
    ms('create', 'create a run, p50'),
    { id: 'memory', title: 'Redis memory a run (no steps, 32 B payloads)', unit: 'bytes', better: 'less', peer: small },
  ],
  round: ({ contender, size }) =>
    at(servicePlace(), async (place) => {
      const before = await usedMemory(place.redis);
      await load('fill', { url: place.service.url, runs: size[contender] });
      const memory = ((await usedMemory(place.redis)) - before) / size[contender];
      return { memory, ...(await worldJob('runs', 'world-redis', place, { n: size.calls })) };
    }),
};
