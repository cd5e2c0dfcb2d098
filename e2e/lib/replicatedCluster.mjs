// @ts-check
// A Redis Cluster of three masters with one replica each. Each node is reached through its own proxies, so that it
// can be cut off.
import { safe } from './redis.mjs';
import { RedisNode } from './redisNode.mjs';
import { until } from './wait.mjs';

const SLOTS = 16_384;
const PAIRS = 3;

export class ReplicatedCluster {
  /** Two nodes each that share the same slots. */
  #pairs = [];
  /** The masters as far as is known. */
  masters = [];

  /** `nodeTimeout` is how long a node may be silent, in milliseconds. */
  static async start({ nodeTimeout = 2000, more = safe } = {}) {
    const cluster = new ReplicatedCluster();
    try {
      await cluster.#form(['--cluster-node-timeout', String(nodeTimeout), '--cluster-replica-validity-factor', '0', '--cluster-allow-replica-migration', 'no', ...more]);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  async #form(more) {
    for (let i = 0; i < PAIRS; i++) {
      const pair = [];
      this.#pairs.push(pair);
      for (let n = 0; n < 2; n++) pair.push(await RedisNode.start(more, { bus: true }));
      const [master] = pair;
      await master.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      const from = Math.floor((i * SLOTS) / PAIRS);
      const to = Math.floor(((i + 1) * SLOTS) / PAIRS) - 1;
      await master.command('CLUSTER', 'ADDSLOTSRANGE', from, to);
    }
    for (const node of this.nodes) node.id = await node.command('CLUSTER', 'MYID');
    const [first, ...others] = this.nodes;
    for (const node of others) await first.command('CLUSTER', 'MEET', '127.0.0.1', node.port, node.bus);
    for (const [master, replica] of this.#pairs) {
      await until('the replica to know its master', async () => (await replica.command('CLUSTER', 'REPLICATE', master.id)) === 'OK');
    }
    await this.settled();
  }

  /** The nodes that share a slot; the first one was its master initially. */
  pairOf(slot) {
    return this.#pairs.findLast((_, i) => Math.floor((i * SLOTS) / PAIRS) <= slot);
  }

  get nodes() {
    return this.#pairs.flat();
  }

  get url() {
    return `redis+cluster://${this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  }

  /** Waits until each pair is a master and its replica, and all nodes see all slots served. */
  settled(options) {
    return until(
      'the cluster to be whole',
      async () => {
        const looks = await Promise.all(this.#pairs.map((pair) => masterOf(pair)));
        const states = await Promise.all(this.nodes.map((node) => node.command('CLUSTER', 'INFO')));
        if (looks.includes(undefined)) return false;
        if (!states.every((info) => /^cluster_state:ok/m.test(info) && /^cluster_slots_pfail:0/m.test(info) && /^cluster_known_nodes:6/m.test(info))) return false;
        this.masters = looks;
        return true;
      },
      options,
    );
  }

  /** Cuts all connections to a node, see {@link CutProxy.cut}, and those from it to the others. */
  cut(node, how) {
    node.cut(how);
    for (const other of this.nodes) if (other !== node) other.busProxy.cut(how, node.id);
  }

  mend(node) {
    node.mend();
    for (const other of this.nodes) other.busProxy.mend(node.id);
  }

  /** Promotes the replica of a node's pair, as an operator does. */
  async failover(node) {
    const pair = this.#pairs.find((nodes) => nodes.includes(node));
    const before = await masterOf(pair);
    const replica = pair.find((other) => other !== before);
    await replica.command('CLUSTER', 'FAILOVER');
    await until('the replica to be the master', async () => (await masterOf(pair)) === replica);
    await this.settled();
  }

  /** Sends one command to the master that has its key. */
  async command(...words) {
    const first = this.masters[0];
    return first.command(...words).catch((error) => {
      const port = Number(/^MOVED \d+ .*:(\d+)$/.exec(error.message)?.[1]);
      const owner = this.nodes.find((node) => node.port === port);
      if (!owner) throw error;
      return owner.command(...words);
    });
  }

  async stop() {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }
}

/** The master of two nodes; undefined while the other one does not follow it. */
async function masterOf(pair) {
  const infos = await Promise.all(pair.map((node) => node.command('INFO', 'replication')));
  const at = infos.findIndex((info) => /^role:master/m.test(info) && /^slave0:.*state=online/m.test(info));
  return at >= 0 && /^role:slave/m.test(infos[1 - at]) ? pair[at] : undefined;
}
