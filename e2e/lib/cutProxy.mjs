// @ts-check
// A proxy whose connections can be cut, like a firewall that drops packets or a host that refuses connections.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

export class CutProxy {
  #target;
  #server;
  #callerOf;
  #links = new Set();
  /** 'drop' or 'refuse' by caller; `undefined` stands for all callers. */
  #cuts = new Map();

  /**
   * Forwards `port` to the port `target` of this machine. `callerOf` identifies the caller from the first bytes of a
   * connection.
   *
   * @param {{ port: number, target: number, callerOf?: (data: Buffer) => string }} options
   */
  static async start({ port, target, callerOf }) {
    const proxy = new CutProxy();
    proxy.#target = target;
    proxy.#callerOf = callerOf;
    proxy.#server = createServer((client) => proxy.#join(client));
    proxy.#server.listen(port, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  #join(client) {
    if (this.#cuts.get(undefined) === 'refuse') return client.destroy();
    const server = connect(this.#target, '127.0.0.1');
    const link = { sockets: [client, server], caller: undefined };
    this.#links.add(link);
    const end = () => {
      this.#links.delete(link);
      link.sockets.forEach((socket) => socket.destroy());
    };
    for (const [one, other] of [link.sockets, link.sockets.toReversed()]) {
      one.setNoDelay(true).on('error', end).on('close', end);
      one.on('data', (data) => {
        if (other.write(data)) return;
        one.pause();
        other.once('drain', () => this.#cutOf(link) || one.resume());
      });
    }
    if (this.#callerOf) {
      client.once('data', (data) => {
        link.caller = this.#callerOf(data);
        this.#apply(link);
      });
    }
    this.#apply(link);
  }

  #cutOf({ caller }) {
    return this.#cuts.get(undefined) ?? this.#cuts.get(caller);
  }

  #apply(link) {
    const how = this.#cutOf(link);
    for (const socket of link.sockets) {
      if (how === 'refuse') socket.destroy();
      else if (how === 'drop') socket.pause();
      else socket.resume();
    }
  }

  /**
   * With 'drop' nothing is forwarded in either direction, and connections stay open; with 'refuse' they end, and new
   * ones end immediately. It applies to all callers or to one.
   */
  cut(how, caller = undefined) {
    this.#cuts.set(caller, how);
    for (const link of this.#links) this.#apply(link);
  }

  /** Restores the connections. Data sent into a dropped connection arrives late. */
  mend(caller = undefined) {
    this.#cuts.delete(caller);
    for (const link of this.#links) this.#apply(link);
  }

  stop() {
    this.#server.close();
    this.cut('refuse');
  }
}
