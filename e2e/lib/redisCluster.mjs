// @ts-check
// Three masters that share the slots of a Redis Cluster, without replicas.
import { freePort } from './process.mjs';
import { RedisServer } from './redis.mjs';
import { until } from './wait.mjs';

const SLOTS = 16_384;
const MASTERS = 3;

export class RedisCluster {
  #nodes = [];

  static async start() {
    const cluster = new RedisCluster();
    try {
      await cluster.#form();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  async #form() {
    for (let i = 0; i < MASTERS; i++) {
      const bus = await freePort();
      const node = await RedisServer.start({ more: ['--cluster-enabled', 'yes', '--cluster-port', String(bus)] });
      this.#nodes.push(node);
      await node.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      const from = Math.floor((i * SLOTS) / MASTERS);
      const to = Math.floor(((i + 1) * SLOTS) / MASTERS);
      await node.command('CLUSTER', 'ADDSLOTS', ...Array.from({ length: to - from }, (_, slot) => from + slot));
      if (i > 0) await this.#nodes[0].command('CLUSTER', 'MEET', '127.0.0.1', node.port, bus);
    }
    for (const node of this.#nodes) {
      await until('all nodes to know all slots', async () => {
        const info = await node.command('CLUSTER', 'INFO');
        return /cluster_state:ok/.test(info) && /cluster_size:3/.test(info);
      });
    }
  }

  get url() {
    return `redis+cluster://${this.#nodes.map((node) => `127.0.0.1:${node.port}`).join(',')}`;
  }

  /** Sends one command to the node that has its key. */
  async command(...words) {
    const [first] = this.#nodes;
    return first.command(...words).catch((error) => {
      const port = Number(/^MOVED \d+ .*:(\d+)$/.exec(error.message)?.[1]);
      const owner = this.#nodes.find((node) => node.port === port);
      if (!owner) throw error;
      return owner.command(...words);
    });
  }

  async stop() {
    await Promise.all(this.#nodes.map((node) => node.stop()));
  }
}
