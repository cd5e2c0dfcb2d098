// @ts-check
// A master with two replicas, and three Sentinels that choose another master if two of them find it down. Each Redis
// is reached through its own proxy, also by its replicas and the Sentinels, so that it can be cut off.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child, freePort } from './process.mjs';
import { command, safe } from './redis.mjs';
import { RedisNode } from './redisNode.mjs';
import { until } from './wait.mjs';

const NODES = 3;
const MASTER = 'themaster';

export class RedisSentinel {
  #downAfter;
  nodes = [];
  sentinels = [];
  /** The master as far as is known. */
  master;

  /** `downAfter` is how long a master may be silent, in milliseconds. */
  static async start({ downAfter = 2000, more = safe } = {}) {
    const set = new RedisSentinel();
    set.#downAfter = downAfter;
    try {
      await set.#form(more);
    } catch (error) {
      await set.stop();
      throw error;
    }
    return set;
  }

  async #form(more) {
    for (let i = 0; i < NODES; i++) this.nodes.push(await RedisNode.start(more));
    const [master, ...replicas] = this.nodes;
    for (const replica of replicas) await replica.follow(master);
    this.master = master;
    await until('the replicas to follow', async () => (await this.#replicasOf(master)) === NODES - 1);
    for (let i = 0; i < NODES; i++) this.sentinels.push(await Sentinel.start(master.port, this.#downAfter));
    await until('the Sentinels to know each other', async () => {
      const known = await Promise.all(this.sentinels.map((sentinel) => sentinel.view()));
      return known.every((view) => view['num-slaves'] === String(NODES - 1) && view['num-other-sentinels'] === String(NODES - 1));
    });
  }

  /** All nodes that hold keys. */
  get masters() {
    return [this.master];
  }

  get url() {
    return `redis+sentinel://${this.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/0?master=${MASTER}`;
  }

  /** Sends one command to the master. */
  command(...words) {
    return this.master.command(...words);
  }

  async #replicasOf(node) {
    const info = await node.command('INFO', 'replication');
    if (!/^role:master/m.test(info)) return -1;
    return [...info.matchAll(/^slave\d+:.*state=online/gm)].length;
  }

  /** Waits until all Sentinels name the same master, and all others follow it. */
  settled(options) {
    return until(
      'Sentinels and replicas to agree on a master',
      async () => {
        const views = await Promise.all(this.sentinels.map((sentinel) => sentinel.view()));
        const master = this.nodes.find(({ port }) => String(port) === views[0].port);
        const agreed = views.every(({ port, flags }) => port === views[0].port && flags === 'master');
        if (!agreed || (await this.#replicasOf(master)) !== NODES - 1) return false;
        this.master = master;
        return true;
      },
      options,
    );
  }

  /** Promotes a replica, as an operator does. */
  async failover() {
    const before = this.master;
    await this.sentinels[0].command('SENTINEL', 'FAILOVER', MASTER);
    await until('another master', async () => (await this.sentinels[0].view()).port !== String(before.port));
    await this.settled();
  }

  /** Cuts all connections to a node, see {@link CutProxy.cut}. */
  cut(node, how) {
    node.cut(how);
  }

  mend(node) {
    node.mend();
  }

  async stop() {
    await Promise.all([...this.sentinels, ...this.nodes].map((server) => server.stop()));
  }
}

class Sentinel {
  #folder;
  child;
  /** @type {number} */
  port;

  static async start(masterPort, downAfter) {
    const sentinel = new Sentinel();
    sentinel.port = await freePort();
    sentinel.#folder = await mkdtemp(join(tmpdir(), 'world-redis-sentinel-'));
    const settings = [
      ...[`port ${sentinel.port}`, 'bind 127.0.0.1', `dir ${sentinel.#folder}`],
      `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 2`,
      `sentinel down-after-milliseconds ${MASTER} ${downAfter}`,
      `sentinel failover-timeout ${MASTER} ${4 * downAfter}`,
      `sentinel parallel-syncs ${MASTER} 2`,
    ];
    await writeFile(sentinel.#file, `${settings.join('\n')}\n`);
    await sentinel.start();
    return sentinel;
  }

  /** Sentinel stores its state in it. */
  get #file() {
    return join(this.#folder, 'sentinel.conf');
  }

  async start() {
    this.child = new Child('sentinel', 'redis-server', [this.#file, '--sentinel']);
    await until('the Sentinel to answer', async () => (await this.command('PING')) === 'PONG', { child: this.child });
    // By default it checks only every ten seconds which replica follows which master.
    await this.command('SENTINEL', 'DEBUG', 'INFO-PERIOD', 1000, 'PUBLISH-PERIOD', 500);
  }

  command(...words) {
    return command(this.port, ...words);
  }

  /** What it knows about the master, by name. */
  async view() {
    const flat = await this.command('SENTINEL', 'MASTER', MASTER);
    return Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, i) => flat.slice(2 * i, 2 * i + 2)));
  }

  kill() {
    return this.child.end('SIGKILL');
  }

  async stop() {
    this.child?.signal('SIGCONT');
    await this.child?.end('SIGTERM');
    await rm(this.#folder, { recursive: true, force: true });
  }
}
