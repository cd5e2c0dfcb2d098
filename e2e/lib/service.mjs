// @ts-check
// The service under test, as its users start it: `world-redis serve` and environment variables.
import { serviceBinary } from './paths.mjs';
import { Child } from './process.mjs';
import { until } from './wait.mjs';

export class Service {
  #child;
  #env;
  #alarms = []; // of processes that have ended

  /** @param {{ redis?: { url: string }, token?: string, port: number, env?: import('./process.mjs').Environment }} options */
  constructor({ redis, token, port, env }) {
    this.token = token;
    this.url = `http://127.0.0.1:${port}`;
    this.#env = {
      WORKFLOW_WORLD_LISTEN: `127.0.0.1:${port}`,
      WORKFLOW_WORLD_STREAM_QUIET: '2s', // streams that nobody closes end soon enough for a test
      ...(redis && { WORKFLOW_REDIS_URL: redis.url }),
      ...(token && { WORKFLOW_WORLD_TOKEN: token }),
      ...env,
    };
  }

  get tail() {
    return this.#child?.tail;
  }

  get output() {
    return this.#child.output;
  }

  get pid() {
    return this.#child.pid;
  }

  get child() {
    return this.#child;
  }

  /** Changes variables; they count from the next start on. */
  configure(env) {
    Object.assign(this.#env, env);
  }

  /** What its log says at WARN or above, of all its processes so far. */
  get alarms() {
    return [...this.#alarms, ...(this.#child?.alarms ?? [])];
  }

  async start() {
    this.#alarms = this.alarms;
    this.#child = new Child('service', serviceBinary, ['serve'], { env: this.#env });
    await until('the service to be ready', async () => (await fetch(`${this.url}/readyz`)).ok, { child: this.#child });
  }

  /** Asks the service to stop and returns its exit code. */
  stop() {
    return this.#child?.end('SIGTERM') ?? 0;
  }

  async kill() {
    await this.#child.end('SIGKILL');
  }

  /** What a client of this service needs in its environment. */
  get clientEnv() {
    return { WORKFLOW_WORLD_URL: this.url, ...(this.token && { WORKFLOW_WORLD_TOKEN: this.token }) };
  }
}
