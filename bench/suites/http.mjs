// @ts-check
// The cost of the service: the same six events per run by 256 callers of a Go load generator, through the HTTP API
// and directly to Redis, with the same scripts and arguments through go-redis AutoPipeline.
import { load } from '../lib/load.mjs';
import { at, redisPlace, servicePlace } from '../lib/places.mjs';

const peer = 'AutoPipeline';

export const http = {
  name: 'http',
  title: 'Storage through HTTP, 256 callers in Go, 300 B',
  sizes: { full: { runs: 20_000 }, quick: { runs: 3_000 }, tiny: { runs: 300 } },
  contenders: ['world-redis', peer],
  metrics: [
    { id: 'events', title: 'events of runs', unit: 'events/s', better: 'more', peer, bars: [{ peer, min: 0.5 }] },
    { id: 'p50', title: 'one event, p50', unit: 'ms', better: 'less', peer },
    { id: 'p99', title: 'one event, p99', unit: 'ms', better: 'less', peer },
  ],
  async round({ contender, size }) {
    const { perSecond, p50, p99 } =
      contender === peer
        ? await at(redisPlace(), (place) => load('direct', { url: place.redis.url, runs: size.runs }))
        : await at(servicePlace(), (place) => load('events', { url: place.service.url, runs: size.runs }));
    return { events: perSecond, p50, p99 };
  },
};
