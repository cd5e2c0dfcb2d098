// @ts-check
// One of several redis-servers that replicate. All connections to it use a proxy, so that it can be cut off.
import { CutProxy } from './cutProxy.mjs';
import { freePort } from './process.mjs';
import { RedisServer } from './redis.mjs';

/** A Redis behind its proxy. */
export class RedisNode {
  #server;
  /** @type {number} */
  port;
  /** The port of the cluster bus, and the proxy in front of it. */
  bus;
  busProxy;
  proxies = [];

  static async start(more, { bus = false } = {}) {
    const node = new RedisNode();
    node.port = await freePort();
    const args = ['--replica-announce-ip', '127.0.0.1', '--replica-announce-port', String(node.port), '--repl-diskless-sync-delay', '0', ...more];
    if (bus) {
      const own = await freePort();
      node.bus = await freePort();
      node.busProxy = await CutProxy.start({ port: node.bus, target: own, callerOf: senderOf });
      node.proxies.push(node.busProxy);
      args.push('--cluster-enabled', 'yes', '--cluster-port', String(own), '--cluster-announce-ip', '127.0.0.1');
      args.push('--cluster-announce-port', String(node.port), '--cluster-announce-bus-port', String(node.bus));
    }
    node.#server = await RedisServer.start({ more: args, rewritten: !bus });
    node.proxies.push(await CutProxy.start({ port: node.port, target: node.#server.port }));
    return node;
  }

  get child() {
    return this.#server.child;
  }

  /** Sends one command without the proxy. */
  command(...words) {
    return this.#server.command(...words);
  }

  async follow(master) {
    await this.command('REPLICAOF', '127.0.0.1', master.port);
    await this.command('CONFIG', 'REWRITE');
  }

  start() {
    return this.#server.resume();
  }

  kill() {
    return this.#server.kill();
  }

  /** Cuts all connections to it, see {@link CutProxy.cut}; its own connections to others stay. */
  cut(how) {
    for (const proxy of this.proxies) proxy.cut(how);
  }

  mend() {
    for (const proxy of this.proxies) proxy.mend();
  }

  async stop() {
    for (const proxy of this.proxies) proxy.stop();
    // Not by SIGTERM: a master would wait for replicas, which are being stopped, too.
    await this.#server?.kill();
    await this.#server?.stop();
  }
}

/** The id of the node that sent a packet of the cluster bus. */
const senderOf = (packet) => packet.toString('latin1', 40, 80);
