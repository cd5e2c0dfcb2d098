/** The real service, on embedded Redis and a free port: what the client is for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';

export const binary = process.env['WORLD_REDIS_BIN'] || join(__dirname, '..', '..', '..', 'bin', 'world-redis');

export class Service {
  #child: ChildProcess | undefined;
  #log = '';

  private constructor(
    readonly port: number,
    private readonly env: Record<string, string>,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts a service; without more settings it has an embedded Redis and no token. */
  static async start(env: Record<string, string> = {}): Promise<Service> {
    if (!existsSync(binary)) throw new Error(`${binary} is missing: run \`make build\`, or set WORLD_REDIS_BIN`);
    const service = new Service(await freePort(), env);
    await service.launch();
    return service;
  }

  /** Starts the process, after {@link stop} or {@link kill} on the same port as before. */
  async launch(): Promise<void> {
    const child = spawn(binary, ['serve'], {
      env: { PATH: process.env['PATH'] ?? '', WORKFLOW_WORLD_LISTEN: `127.0.0.1:${this.port}`, ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    const keep = (text: Buffer) => (this.#log = (this.#log + text.toString()).slice(-20_000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    for (let tries = 0; tries < 400; tries++) {
      if (child.exitCode !== null) break;
      const ready = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (ready?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    child.kill('SIGKILL');
    throw new Error(`the service did not become ready:\n${this.#log}`);
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }
}

/** A port nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
