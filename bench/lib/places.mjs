// @ts-check
// A contender's data stores: its own servers, new for every measurement, and the environment variables that point to
// them.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, run } from '../../e2e/lib/process.mjs';
import { Service } from '../../e2e/lib/service.mjs';
import { appFolder, nodeOf } from './paths.mjs';
import { PostgresServer } from './postgres.mjs';
import { startRedis } from './redis.mjs';

/**
 * redis-server, with memory in `hugePages` or not, and our service. `replicas` may be 2; `second` is then the other
 * one's address.
 *
 * @param {{ replicas?: number, env?: import('../../e2e/lib/process.mjs').Environment, hugePages?: boolean }}
 * [options]
 */
export async function servicePlace({ replicas = 1, env, hugePages } = {}) {
  const redis = await startRedis({ hugePages });
  const services = [];
  const stop = async () => {
    for (const service of services) await service.stop();
    await redis.stop();
  };
  try {
    for (let i = 0; i < replicas; i++) {
      const service = new Service({ redis, port: await freePort(), env: { WORKFLOW_WORLD_LOG_LEVEL: 'error', ...env } });
      await service.start();
      services.push(service);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { redis, service: services[0], second: services[1]?.url, env: services[0].clientEnv, stop };
}

/** Only a redis-server, for a World that uses it from the app. */
export async function redisPlace() {
  const redis = await startRedis();
  return { redis, env: { WORKFLOW_REDIS_URL: redis.url, REDIS_URL: redis.url, WORKFLOW_REDIS_URI: redis.url }, stop: () => redis.stop() };
}

/** A PostgreSQL with the schema of the World package. */
export async function postgresPlace() {
  const postgres = await PostgresServer.start();
  try {
    const env = { WORKFLOW_POSTGRES_URL: postgres.url, DATABASE_URL: postgres.url };
    const setup = join(appFolder('v4'), 'node_modules/@workflow/world-postgres/bin/setup.js');
    const made = await run(nodeOf('v4'), [setup], { cwd: appFolder('v4'), env });
    if (made.code !== 0) throw new Error(`world-postgres setup: ${made.tail}`);
    return { env, stop: () => postgres.stop() };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** A folder for files. */
export async function folderPlace() {
  const folder = await mkdtemp(join(tmpdir(), 'world-redis-bench-'));
  return {
    env: { WORKFLOW_LOCAL_DATA_DIR: folder },
    stop: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Nothing: the World keeps its data in the app. */
export async function noPlace() {
  return { env: {}, stop: async () => {} };
}

/** Creates a place, passes it to `use`, and always stops its servers. */
export async function at(place, use) {
  const got = await place;
  try {
    return await use(got);
  } finally {
    await got.stop();
  }
}
