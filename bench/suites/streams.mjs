// Streams through each World's own methods. Of world-redis the reader is at another replica than the writer.
import { at } from '../lib/places.mjs';
import { attempt } from '../lib/rounds.mjs';
import { median, quantile } from '../lib/stats.mjs';
import { worlds } from '../lib/worlds.mjs';
import { worldJob } from './worldJob.mjs';

const peer = 'world-redis-bullmq';
const inProcess = new Set(['in-memory', 'world-local']);

export const streams = {
  name: 'streams',
  title: 'Streams: written and read at once',
  sizes: {
    full: { live: 200, small: 20_000, big: 3_200 },
    quick: { contenders: ['world-redis', 'world-redis-bullmq', 'in-memory'], live: 50, small: 3_000, big: 480 },
    tiny: { live: 10, small: 320, big: 64 },
  },
  contenders: Object.keys(worlds),
  metrics: [
    { id: 'live', title: 'write to reader, one chunk, p50', unit: 'ms', better: 'less', peer, bars: [{ max: 2 }, { peer, max: 1 }] },
    { id: 'live-p99', title: 'write to reader, one chunk, p99', unit: 'ms', better: 'less', peer, bars: [{ max: 20 }] },
    { id: 'small', title: '100-byte chunks, 16 a call, one reader', unit: 'chunks/s', better: 'more', peer, bars: [{ peer, min: 1 }] },
    { id: 'big', title: '64 KB chunks, 16 a call, one reader', unit: 'MB/s', better: 'more', peer, bars: [{ peer, min: 1 }] },
    { id: 'big-write', title: '64 KB chunks, the writing of it', unit: 'MB/s', better: 'more', peer, bars: [{ min: 200 }] },
  ],
  async round({ contender, size, wants }) {
    const result = {};
    const when = async (ids, measure) => {
      if (wants(...ids)) await attempt(result, ids[0], measure);
    };
    const run = (settings) =>
      at(worlds[contender].place({ replicas: 2 }), (place) =>
        worldJob('streams', contender, place, { readerUrl: place.second, shared: inProcess.has(contender), ...settings }),
      );
    await when(['live', 'live-p99'], async () => {
      const { latencies } = await run({ measure: 'live', n: size.live });
      return { live: median(latencies), 'live-p99': quantile(latencies, 0.99) };
    });
    await when(['small'], async () => ({ small: (await run({ measure: 'bulk', n: size.small, size: 100 })).perSecond }));
    await when(['big', 'big-write'], async () => {
      const { megabytes, writtenMegabytes } = await run({ measure: 'bulk', n: size.big, size: 65_536 });
      return { big: megabytes, 'big-write': writtenMegabytes };
    });
    return result;
  },
};
