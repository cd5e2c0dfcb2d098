// @ts-check
// One redis-server behind a proxy. Another mode is another class with the same members, named in modes.mjs.
import { safe } from '../lib/redis.mjs';
import { RedisNode } from '../lib/redisNode.mjs';

export class Standalone {
  #node;
  /** Acknowledged data is in its file. */
  replicas = 0;

  /** Acknowledged data must survive a kill -9, so the append-only file is written before each answer. */
  static async start() {
    const mode = new Standalone();
    mode.#node = await RedisNode.start(safe);
    return mode;
  }

  get url() {
    return `redis://127.0.0.1:${this.#node.port}/0`;
  }

  /** For checks that query Redis directly. */
  get redis() {
    return this.#node;
  }

  /** All nodes that hold keys. */
  get masters() {
    return [this.#node];
  }

  /** The processes that may get faults: `{kind, name, process}`. Only one per kind at a time. */
  get processes() {
    const node = this.#node;
    const process = {
      start: () => node.start(),
      kill: () => node.kill(),
      cut: (how) => node.cut(how),
      mend: () => node.mend(),
      get child() {
        return node.child;
      },
    };
    return [{ kind: 'redis', name: 'redis', process }];
  }

  stop() {
    return this.#node.stop();
  }
}
