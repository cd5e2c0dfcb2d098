/**
 * A server that misbehaves on request: the faults here (cut bodies, 503s, dropped connections) are those that the
 * real service cannot be asked for.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export type Answer = (response: ServerResponse, seen: Seen) => void;

export class Fake {
  readonly seen: Seen[] = [];
  readonly sockets = new Set<Socket>();
  opened = 0;
  url = '';
  #server: Server;
  #answers: Answer[] = [];

  private constructor(private readonly fallback: Answer) {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('error', () => undefined);
      request.on('end', () => {
        const seen = {
          method: request.method ?? '',
          url: request.url ?? '',
          headers: request.headers,
          body: Buffer.concat(parts),
        };
        this.seen.push(seen);
        (this.#answers.shift() ?? this.fallback)(response, seen);
      });
    });
    // As a service from before call sockets.
    this.#server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n'));
    this.#server.on('connection', (socket) => {
      this.opened++;
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  /** Starts a server on a free port; `fallback` answers what was not scripted. */
  static async start(fallback: Answer): Promise<Fake> {
    const fake = new Fake(fallback);
    await fake.listen(0);
    return fake;
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', resolve);
    });
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Scripts the next answers. */
  next(...answers: Answer[]): void {
    this.#answers.push(...answers);
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Answers with JSON. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Drops the connection without an answer. */
export const drop: Answer = (response) => {
  response.socket?.destroy();
};

/** Begins a stream's body with these bytes and leaves it open; `cut` breaks the connection afterwards. */
export function streamBody(bytes: Buffer, options: { start?: number; cut?: boolean } = {}): Answer {
  return (response) => {
    response.writeHead(200, {
      'content-type': 'application/vnd.world-redis.chunks',
      'x-stream-start': String(options.start ?? 0),
    });
    response.write(bytes, () => {
      if (options.cut) response.socket?.destroy();
    });
    if (bytes.byteLength === 0) response.flushHeaders();
  };
}
