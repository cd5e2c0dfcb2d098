// @ts-check
// The service under test, started as by its users: `world-redis serve` and environment variables.
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

  /** Changes variables; they apply from the next start. */
  configure(env) {
    Object.assign(this.#env, env);
  }

  /** The log lines at WARN or above of all its processes so far. */
  get alarms() {
    return [...this.#alarms, ...(this.#child?.alarms ?? [])];
  }

  async start() {
    this.#alarms = this.alarms;
    this.#child = new Child('service', serviceBinary, ['serve'], { env: this.#env });
    await until('the service to be ready', async () => (await fetch(`${this.url}/readyz`)).ok, { child: this.#child });
  }

  /** Stops the service and returns its exit code. */
  stop() {
    return this.#child?.end('SIGTERM') ?? 0;
  }

  async kill() {
    await this.#child.end('SIGKILL');
  }

  /** The environment variables of a client of this service. */
  get clientEnv() {
    return { WORKFLOW_WORLD_URL: this.url, ...(this.token && { WORKFLOW_WORLD_TOKEN: this.token }) };
  }
}
