/** An app as the service sees it: an HTTP server with the client's own handlers on the two well-known routes. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RedisWorld } from '../../build/index.js';

export interface Delivered {
  message: unknown;
  attempt: number;
  queueName: string;
  messageId: string;
}

export class App {
  readonly delivered: Delivered[] = [];
  url = '';
  #server: Server | undefined;
  #waiting: (() => void)[] = [];

  /** `act` decides what the n-th delivery (from 0) answers: a result, or an error to throw. */
  static async start(world: RedisWorld, act: (delivered: Delivered, n: number) => unknown = () => undefined): Promise<App> {
    const app = new App();
    const handle = async (message: unknown, meta: Omit<Delivered, 'message'>) => {
      const delivered = { message, ...meta };
      const n = app.delivered.push(delivered) - 1;
      for (const wake of app.#waiting.splice(0)) wake();
      return act(delivered, n);
    };
    const routes: Record<string, (request: Request) => Promise<Response>> = {
      '/.well-known/workflow/v1/flow': world.createQueueHandler('__wkf_workflow_', handle),
      '/.well-known/workflow/v1/step': world.createQueueHandler('__wkf_step_', handle),
    };
    app.#server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const route = routes[request.url ?? ''];
      if (!route) return void response.writeHead(404).end();
      const answer = await route(
        new Request(`http://app${request.url}`, {
          method: request.method ?? 'POST',
          headers: Object.entries(request.headers) as [string, string][],
          body: Buffer.concat(parts),
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    });
    await new Promise<void>((resolve) => app.#server?.listen(0, '127.0.0.1', resolve));
    app.url = `http://127.0.0.1:${(app.#server.address() as AddressInfo).port}`;
    return app;
  }

  /** Waits until `count` deliveries have arrived. */
  async deliveries(count: number): Promise<Delivered[]> {
    while (this.delivered.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.delivered;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }
}
