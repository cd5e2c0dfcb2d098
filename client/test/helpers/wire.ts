/** What lies between client and service: a TCP proxy that knows WebSockets from requests, and can lose answers. */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Wire {
  url = '';
  /** Requests of HTTP that came by, upgrades to a WebSocket too. */
  requests = 0;
  /** WebSockets that the service has agreed to. */
  upgraded = 0;
  /** Answers that came over them, or parts of one. */
  answers = 0;
  /** So many of those to come are lost, each with its connection. */
  lose = 0;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  static async start(target: string): Promise<Wire> {
    const wire = new Wire();
    const { hostname, port } = new URL(target);
    const server = createServer((client) => wire.#join(client, connect(Number(port), hostname)));
    wire.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    wire.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return wire;
  }

  #join(client: Socket, service: Socket): void {
    let socket = false;
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
    client.on('data', (data) => {
      if (!socket && /^(GET|POST) /.test(data.toString('latin1'))) this.requests++;
      service.write(data);
    });
    service.on('data', (data) => {
      if (socket) {
        this.answers++;
        if (this.lose > 0) {
          this.lose--;
          service.destroy();
          return;
        }
      } else if (data.toString('latin1').startsWith('HTTP/1.1 101 ')) {
        socket = true;
        this.upgraded++;
      }
      client.write(data);
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server?.close(resolve));
  }
}
