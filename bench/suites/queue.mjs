// @ts-check
// The queue alone: our service through its HTTP API, and BullMQ 5 with one worker process that POSTs each job with
// fetch. One Node process feeds both like an app: 32 concurrent calls of queue() or Queue.add(), one message per
// call, the same message of 300 bytes, and both deliver to the same stub.
import { setTimeout as delay } from 'node:timers/promises';
import { Child } from '../../e2e/lib/process.mjs';
import { until } from '../../e2e/lib/wait.mjs';
import { job } from '../lib/job.mjs';
import { appFolder, checkInstalled, nodeOf, worker } from '../lib/paths.mjs';
import { at, redisPlace, servicePlace } from '../lib/places.mjs';
import { idleLoad } from '../lib/redis.mjs';
import { attempt } from '../lib/rounds.mjs';
import { median, quantile } from '../lib/stats.mjs';
import { withStub } from '../lib/stub.mjs';

const peer = 'bullmq';
/** Concurrent deliveries of BullMQ's worker: five times the peers' default. */
const concurrency = 50;

const contenders = {
  'world-redis': { app: 'v4', package: '@world-redis/client', producer: 'queue-world', place: servicePlace },
  bullmq: { app: 'bullmq', package: 'bullmq', producer: 'queue-bullmq', place: redisPlace },
};

export const queue = {
  name: 'queue',
  title: 'Queue: enqueue and deliver by HTTP',
  sizes: {
    full: { hops: 300, messages: 20_000, warm: 1_000, delayed: 10_000, leadMs: 15_000, idle: 8 },
    quick: { hops: 50, messages: 3_000, warm: 200, delayed: 2_000, leadMs: 4_000, idle: 4 },
    tiny: { hops: 10, messages: 300, warm: 50, delayed: 300, leadMs: 3_000, idle: 1 },
  },
  contenders: Object.keys(contenders),
  metrics: [
    { id: 'hop', title: 'enqueue to first byte at the app, p50', unit: 'ms', better: 'less', peer, bars: [{ max: 2 }, { peer, max: 1 }] },
    { id: 'hop-p99', title: 'enqueue to first byte at the app, p99', unit: 'ms', better: 'less', peer, bars: [{ max: 15 }] },
    { id: 'throughput', title: 'enqueued and delivered', unit: 'messages/s', better: 'more', peer, bars: [{ peer, min: 1.5 }] },
    { id: 'enqueue', title: 'enqueued while delivering', unit: 'messages/s', better: 'more', peer },
    { id: 'idle', title: 'Redis commands of an idle replica, those inside scripts included', unit: '/s', better: 'less', peer, bars: [{ max: 5 }] },
    { id: 'idle-trips', title: 'round trips to Redis of an idle replica', unit: '/s', better: 'less', peer, bars: [{ max: 5 }] },
    { id: 'delayed', title: '10,000 delayed, due in one second (2,000 in quick): last delivered after', unit: 'ms', better: 'less', peer, bars: [{ max: 15_000 }] },
    { id: 'interactive', title: 'start of interactive messages meanwhile, p50', unit: 'ms', better: 'less', peer },
    { id: 'interactive-max', title: 'start of interactive messages meanwhile, most', unit: 'ms', better: 'less', peer, bars: [{ max: 1_000 }] },
  ],
  async round({ contender, size, wants }) {
    checkInstalled(contenders[contender].app, contenders[contender].package);
    const result = {};
    const when = async (ids, measure) => {
      if (wants(...ids)) await attempt(result, ids[0], measure);
    };
    await when(['hop', 'hop-p99'], async () => {
      const { latencies } = await measure(contender, 'hop', { n: size.hops, worker: contender === 'bullmq' ? worker('bullmq-worker') : undefined });
      return { hop: median(latencies), 'hop-p99': quantile(latencies, 0.99) };
    });
    await when(['throughput', 'enqueue'], async () => {
      const { perSecond, enqueuedPerSecond } = await measure(contender, 'throughput', { n: size.messages, warm: size.warm });
      return { throughput: perSecond, enqueue: enqueuedPerSecond };
    });
    await when(['delayed', 'interactive', 'interactive-max'], async () => {
      const { lastAfterDue, latencies, lost } = await measure(contender, 'delayed', { n: size.delayed, leadMs: size.leadMs });
      if (lost > 0) throw new Error(`${lost} interactive messages were not delivered`);
      return { delayed: lastAfterDue, interactive: median(latencies), 'interactive-max': Math.max(...latencies) };
    });
    await when(['idle', 'idle-trips'], async () => {
      const { commands, reads } = await idle(contender, size.idle);
      return { idle: commands, 'idle-trips': reads };
    });
    return result;
  },
};

/** One measurement on a new Redis. BullMQ's worker runs, too, unless the measurement has its own stub. */
function measure(contender, name, settings) {
  const { app, producer, place } = contenders[contender];
  return at(place(), (p) => {
    if (name === 'hop') return job(producer, app, { measure: name, concurrency, ...settings }, p.env);
    return withStub((stubUrl) => withWorker(contender, stubUrl, p, () => job(producer, app, { measure: name, stubUrl, ...settings }, p.env)));
  });
}

async function withWorker(contender, stubUrl, place, use) {
  if (contender !== 'bullmq') return use();
  const child = new Child('BullMQ worker', nodeOf('bullmq'), [worker('bullmq-worker'), JSON.stringify({ stubUrl, concurrency })], {
    cwd: appFolder('bullmq'),
    env: place.env,
  });
  try {
    await until('the worker to be ready', () => child.stdout.includes('ready'), { child });
    return await use();
  } finally {
    await child.end('SIGKILL');
  }
}

/** After one message, so that everything that starts with the first one has started. */
function idle(contender, seconds) {
  const { app, producer, place } = contenders[contender];
  return at(place(), (p) =>
    withStub((stubUrl) =>
      withWorker(contender, stubUrl, p, async () => {
        await job(producer, app, { measure: 'throughput', stubUrl, n: 10, warm: 1 }, p.env);
        await delay(1_000);
        return idleLoad(p.redis, seconds);
      }),
    ),
  );
}
