// @ts-check
// Streams through each World's own methods. For world-redis, the reader is at another replica than the writer. Rows
// that begin with "HTTP" measure only the API, with a cheap client in Go.
import { load } from '../lib/load.mjs';
import { at, servicePlace } from '../lib/places.mjs';
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
    full: { live: 200, small: 20_000, big: 3_200, readers: 2_000, seconds: 10 },
    quick: { contenders: ['world-redis', 'world-redis-bullmq', 'in-memory'], live: 50, small: 3_000, big: 480, readers: 2_000, seconds: 3 },
    tiny: { live: 10, small: 320, big: 64, readers: 50, seconds: 1 },
  },
  contenders: Object.keys(worlds),
  metrics: [
    { id: 'live', title: 'write to reader, one chunk, p50', unit: 'ms', better: 'less', peer, bars: [{ max: 2 }, { peer, max: 1 }] },
    { id: 'live-p99', title: 'write to reader, one chunk, p99', unit: 'ms', better: 'less', peer, bars: [{ max: 20 }] },
    { id: 'small', title: '100-byte chunks, 16 a call, one reader', unit: 'chunks/s', better: 'more', peer, bars: [{ peer, min: 1 }] },
    { id: 'big', title: '64 KB chunks, 16 a call, one reader', unit: 'MB/s', better: 'more', peer, bars: [{ peer, min: 1 }] },
    { id: 'big-write', title: '64 KB chunks, the writing of it', unit: 'MB/s', better: 'more', peer, bars: [{ min: 200 }] },
    { id: 'http-live', title: 'HTTP: write returned to reader, one chunk, p50', unit: 'ms', better: 'less', bars: [{ max: 2 }] },
    { id: 'http-live-p99', title: 'HTTP: write returned to reader, one chunk, p99', unit: 'ms', better: 'less', bars: [{ max: 20 }] },
    { id: 'http-first', title: 'HTTP: call to reader, first chunk', unit: 'ms', better: 'less', bars: [{ max: 20 }] },
    { id: 'http-small', title: 'HTTP: 100-byte chunks, 16 a call, one reader', unit: 'chunks/s', better: 'more', bars: [{ min: 5_000 }] },
    { id: 'http-big-alone', title: 'HTTP: 64 KB chunks, 16 a call, written while nobody reads', unit: 'MB/s', better: 'more', bars: [{ min: 200 }] },
    { id: 'http-big-huge', title: 'HTTP: the same on a Redis in huge pages', unit: 'MB/s', better: 'more', bars: [{ min: 200 }] },
    { id: 'http-big-two', title: 'HTTP: 64 KB chunks, 16 a call, into two streams at once', unit: 'MB/s', better: 'more', bars: [{ min: 200 }] },
    { id: 'http-big-two-huge', title: 'HTTP: the same on a Redis in huge pages', unit: 'MB/s', better: 'more', bars: [{ min: 200 }] },
    { id: 'http-big-stored', title: 'HTTP: 64 KB chunks, read when they are stored', unit: 'MB/s', better: 'more', bars: [{ min: 200 }] },
    { id: 'http-big', title: 'HTTP: 64 KB chunks, 16 a call, one reader', unit: 'MB/s', better: 'more' },
    { id: 'http-big-write', title: 'HTTP: 64 KB chunks, the writing of it', unit: 'MB/s', better: 'more', bars: [{ min: 200 }] },
    { id: 'readers-api', title: 'HTTP: a run created beside 2,000 live readers, 50 a second, p99', unit: 'ms', better: 'less', bars: [{ max: 200 }] },
    { id: 'readers-all', title: 'HTTP: a chunk each for 2,000 readers of 200 streams', unit: 'ms', better: 'less' },
  ],
  async round({ contender, size, wants }) {
    const result = {};
    const when = async (ids, measure) => {
      if (wants(...ids)) await attempt(result, ids[0], measure);
    };
    const run = (settings) =>
      at(worlds[contender].place({ replicas: 2 }), (place) => worldJob('streams', contender, place, { readerUrl: place.second, shared: inProcess.has(contender), ...settings }));
    await when(['live', 'live-p99'], async () => {
      const { latencies } = await run({ measure: 'live', n: size.live });
      return { live: median(latencies), 'live-p99': quantile(latencies, 0.99) };
    });
    await when(['small'], async () => ({ small: (await run({ measure: 'bulk', n: size.small, size: 100 })).perSecond }));
    await when(['big', 'big-write'], async () => {
      const { megabytes, writtenMegabytes } = await run({ measure: 'bulk', n: size.big, size: 65_536 });
      return { big: megabytes, 'big-write': writtenMegabytes };
    });
    if (contender === 'world-redis') await overHTTP(size, when);
    return result;
  },
};

async function overHTTP(size, when) {
  const run = (settings, hugePages) => at(servicePlace({ replicas: 2, hugePages }), (place) => load('streams', { url: place.service.url, second: place.second, ...settings }));
  await when(['http-live', 'http-live-p99'], async () => {
    const { fromReturn } = await run({ measure: 'live', n: size.live });
    return { 'http-live': fromReturn.p50, 'http-live-p99': fromReturn.p99 };
  });
  await when(['http-small', 'http-first'], async () => {
    const { perSecond, first } = await run({ measure: 'bulk', n: size.small });
    return { 'http-small': perSecond, 'http-first': first };
  });
  await when(['http-big-alone', 'http-big-stored'], async () => {
    const { writtenMegabytes, readMegabytes } = await run({ measure: 'apart', n: size.big, size: 65_536 });
    return { 'http-big-alone': writtenMegabytes, 'http-big-stored': readMegabytes };
  });
  await when(['http-big-huge'], async () => {
    const { writtenMegabytes } = await run({ measure: 'apart', n: size.big, size: 65_536 }, true);
    return { 'http-big-huge': writtenMegabytes };
  });
  for (const hugePages of [false, true]) {
    const id = hugePages ? 'http-big-two-huge' : 'http-big-two';
    await when([id], async () => {
      const { writtenMegabytes } = await run({ measure: 'apart', n: size.big, size: 65_536, streams: 2 }, hugePages);
      return { [id]: writtenMegabytes };
    });
  }
  await when(['http-big', 'http-big-write'], async () => {
    const { megabytes, writtenMegabytes } = await run({ measure: 'bulk', n: size.big, size: 65_536 });
    return { 'http-big': megabytes, 'http-big-write': writtenMegabytes };
  });
  await when(['readers-api', 'readers-all'], async () => {
    const { api, all } = await run({ measure: 'readers', readers: size.readers, seconds: size.seconds });
    return { 'readers-api': api.p99, 'readers-all': all };
  });
}
