// @ts-check
// A Redis is killed, freezes, or is no longer the master: how long after Redis takes writes again the service does. It
// takes writes again when a newly connected client can write, and has asked a Sentinel for the master first.
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../e2e/lib/process.mjs';
import { RedisServer, safe } from '../../e2e/lib/redis.mjs';
import { RedisSentinel } from '../../e2e/lib/redisSentinel.mjs';
import { ReplicatedCluster } from '../../e2e/lib/replicatedCluster.mjs';
import { Service } from '../../e2e/lib/service.mjs';
import { slotOf } from '../lib/crc16.mjs';
import { Callers, KINDS } from '../lib/outage.mjs';
import { say } from '../lib/progress.mjs';
import { attempt } from '../lib/rounds.mjs';
import { ulid } from '../lib/ulid.mjs';

/** The queue's slot: the master that has it is the one that goes away, and the runs are in its slots, too. */
const QUEUE = 'workflow_flows';
/** How long calls are made before, and after Redis takes writes again. */
const [BEFORE, AFTER] = [2000, 6000];

const PLACES = {
  sentinel: async () => {
    const set = await RedisSentinel.start({ downAfter: 2000 });
    const { master } = set;
    const others = set.nodes.filter((node) => node !== master);
    return {
      set,
      master,
      failover: () => set.sentinels[0].command('SENTINEL', 'FAILOVER', 'themaster'),
      writes: () => writesBySentinel(set, others),
      newRun: () => `wrun_${ulid()}`,
    };
  },
  cluster: async () => {
    const set = await ReplicatedCluster.start({ nodeTimeout: 2000 });
    const [master, replica] = set.pairOf(slotOf(QUEUE));
    const newRun = () => {
      for (;;) {
        const id = `wrun_${ulid()}`;
        if (set.pairOf(slotOf(id))[0] === master) return id;
      }
    };
    return { set, master, failover: () => replica.command('CLUSTER', 'FAILOVER'), writes: () => replica.command('SET', `{${QUEUE}}:probe`, 1), newRun };
  },
  standalone: async () => {
    const server = await RedisServer.start({ more: safe });
    return { set: server, master: server, writes: () => server.command('SET', 'probe', 1), newRun: () => `wrun_${ulid()}` };
  },
};

const FAULTS = {
  kill: { title: 'kill -9', begin: ({ master }) => master.kill() },
  stop: { title: 'SIGSTOP', begin: ({ master }) => master.child.signal('SIGSTOP') },
  planned: { title: 'planned', begin: ({ failover }) => failover() },
  restart: {
    title: 'kill -9 and a second',
    async begin({ master }) {
      await master.kill();
      await delay(1000);
      await master.resume();
    },
  },
};

const CASES = [
  ...['kill', 'stop', 'planned'].flatMap((fault) => [
    ['sentinel', fault],
    ['cluster', fault],
  ]),
  ['standalone', 'restart'],
];
const TITLES = { read: 'reads', event: 'events', queue: 'queue, until delivered', stream: 'stream writes', live: 'live reader' };
const idOf = (...words) => words.join('-');

export const failover = {
  name: 'failover',
  title: 'A master goes away: from when Redis takes writes again until calls succeed',
  sizes: { full: { rounds: 3 }, quick: {}, tiny: {} },
  fullOnly: true,
  contenders: ['world-redis'],
  metrics: CASES.flatMap(([place, fault]) =>
    KINDS.map((kind) => ({ id: idOf(place, fault, kind), title: `${place}, ${FAULTS[fault].title}: ${TITLES[kind]}`, unit: 'ms', better: 'less', bars: [{ max: 1000 }] })),
  ),
  async round({ wants }) {
    const result = {};
    for (const [place, fault] of CASES) {
      const ids = KINDS.map((kind) => idOf(place, fault, kind));
      if (!wants(...ids)) continue;
      await attempt(result, ids[0], async () => {
        const lags = await lagsOf(PLACES[place], FAULTS[fault]);
        return Object.fromEntries(KINDS.map((kind) => [idOf(place, fault, kind), lags[kind]]));
      });
    }
    return result;
  },
};

async function lagsOf(open, fault) {
  const place = await open();
  const services = [];
  try {
    for (let i = 0; i < 2; i++) {
      const service = new Service({ redis: place.set, port: await freePort(), env: { WORKFLOW_WORLD_LOG_LEVEL: 'error', WORKFLOW_WORLD_STREAM_QUIET: '60s' } });
      services.push(service);
      await service.start();
    }
    const callers = await Callers.start({ url: services[0].url, second: services[1].url, newRun: place.newRun });
    await delay(BEFORE);
    const began = performance.now();
    const under = fault.begin(place);
    const again = await firstWrite(place.writes);
    await under;
    await delay(AFTER);
    await callers.stop();
    say(`  Redis took writes again after ${((again - began) / 1000).toFixed(1)} s`);
    for (const line of callers.failures(again)) say(`    ${line}`);
    return callers.lags(again);
  } finally {
    await Promise.all(services.map((service) => service.kill().catch(() => {})));
    await place.set.stop();
  }
}

async function firstWrite(writes) {
  for (const until = performance.now() + 60_000; performance.now() < until; await delay(5)) {
    const done = await Promise.race([
      writes().then(
        () => true,
        () => false,
      ),
      delay(500, false),
    ]);
    if (done) return performance.now();
  }
  throw new Error('Redis takes no writes');
}

async function writesBySentinel(set, others) {
  const [, port] = await set.sentinels[0].command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'themaster');
  const node = others.find((other) => String(other.port) === port);
  if (!node) throw new Error('it is the old one');
  await node.command('SET', 'probe', 1);
}
