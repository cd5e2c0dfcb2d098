// One redis-server. Another mode is another class with the same members, named in modes.mjs.
import { RedisServer } from '../lib/redis.mjs';

export class Standalone {
  #server;

  /** What is acknowledged must outlive a kill -9, so the append-only file is written before each answer. */
  static async start() {
    const mode = new Standalone();
    mode.#server = await RedisServer.start({ more: ['--appendfsync', 'always'] });
    return mode;
  }

  get url() {
    return this.#server.url;
  }

  /** For what a check asks of Redis itself. */
  get redis() {
    return this.#server;
  }

  /** The processes that may be killed and frozen, by name. */
  get processes() {
    const server = this.#server;
    return { redis: { start: () => server.resume(), kill: () => server.kill(), get child() { return server.child; } } };
  }

  stop() {
    return this.#server.stop();
  }
}
