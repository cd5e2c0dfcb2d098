/** What most tests against the real thing need: a redis-server, a service on it, and Worlds that are closed in the end. */
import { after, before } from 'node:test';
import type { RedisWorld } from '../../build/index.js';
import { type Event, eventOf } from './events.js';
import { newRunId } from './ids.js';
import { RedisServer } from './redis.js';
import { type Spec, worldAs } from './sdk.js';
import { Service } from './service.js';

interface RealOptions {
  /** Settings of the service. */
  env?: Record<string, string>;
  maxMemory?: string;
  prepare?: (real: Real) => Promise<void>;
}

export class Real {
  redis!: RedisServer;
  service!: Service;
  readonly #worlds: RedisWorld[] = [];

  async world(spec: Spec, url = this.service.url): Promise<RedisWorld> {
    const world = await worldAs(spec, url);
    this.#worlds.push(world);
    return world;
  }

  /** Makes a run and starts it, with more events about one entity if they are named. */
  async run(world: RedisWorld, spec: Spec, ...about: [id: string, ...kinds: string[]] | []): Promise<string> {
    const runId = newRunId();
    const [id = '', ...kinds] = about;
    for (const kind of ['run_created', 'run_started', ...kinds]) {
      await world.events.create(runId, eventOf(kind, spec, { id, token: `token of ${id}` }));
    }
    return runId;
  }

  /**
   * Starts all of it before the tests of the file or of the suite and stops it after them; `prepare` comes in between,
   * since the hooks of a file do not wait for each other.
   */
  static forThisFile({ env, maxMemory, prepare }: RealOptions = {}): Real {
    const real = new Real();
    before(async () => {
      real.redis = await RedisServer.start(maxMemory);
      real.service = await Service.start({ WORKFLOW_REDIS_URL: real.redis.url, ...env });
      await prepare?.(real);
    });
    after(async () => {
      for (const world of real.#worlds) await world.close();
      await real.service?.stop();
      await real.redis?.stop();
    });
    return real;
  }
}

/** The types of a run's events. */
export async function typesOf(world: RedisWorld, runId: string): Promise<string[]> {
  const { data } = await world.events.list({ runId, resolveData: 'none' });
  return data.map((event: Event) => event.eventType);
}
