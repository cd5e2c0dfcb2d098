/** A real redis-server of the test's own, on a free port; nothing of it is left on disk. */
import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { freePort } from './service.js';

export class RedisServer {
  #child: ChildProcess | undefined;

  private constructor(readonly port: number) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}/0`;
  }

  /** `maxMemory` as in redis.conf, such as `64mb`; when it is full, Redis refuses writes. */
  static async start(maxMemory = '0'): Promise<RedisServer> {
    const redis = new RedisServer(await freePort());
    const options = { port: redis.port, bind: '127.0.0.1', dir: '/tmp', save: '', appendonly: 'no', maxmemory: maxMemory };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = spawn('redis-server', [...args, '--maxmemory-policy', 'noeviction'], { stdio: 'ignore' });
    redis.#child = child;
    let failed: Error | undefined;
    child.once('error', (error) => (failed = error));
    for (let tries = 0; tries < 400 && !failed && child.exitCode === null; tries++) {
      if (await redis.#answers()) return redis;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    child.kill('SIGKILL');
    throw failed ?? new Error('redis-server did not start');
  }

  #answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1', () => socket.write('PING\r\n'));
      socket.once('data', (data) => resolve(data.toString().startsWith('+PONG')) ?? socket.destroy());
      socket.once('error', () => resolve(false));
    });
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }
}
