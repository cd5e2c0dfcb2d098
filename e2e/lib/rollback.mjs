// @ts-check
// A Redis that loses its last writes, as one does that takes over from a master which it has not heard the last of.
import { RedisServer } from './redis.mjs';
import { until } from './wait.mjs';

/** Follows a Redis up to a moment; later that Redis becomes what it was then. It ends with the test `t`. */
export async function startShadow(t, redis) {
  const shadow = await RedisServer.start({ persistent: false });
  t.after(() => shadow.stop());
  await follow(shadow, redis);
  return {
    /** Has it stand still once `is` is true of what it holds; `is` gets a function that runs a command there. */
    async stop(is) {
      await until('the moment to go back to', () => is((...words) => shadow.command(...words)));
      await shadow.command('REPLICAOF', 'NO', 'ONE');
    },
    /** Everything that came since is gone. */
    async bringBack() {
      await follow(redis, shadow);
      await redis.command('REPLICAOF', 'NO', 'ONE');
    },
  };
}

async function follow(one, other) {
  await one.command('REPLICAOF', '127.0.0.1', String(other.port));
  await until('a copy of Redis', async () => /master_link_status:up/.test(await one.command('INFO', 'replication')));
}

/** Copies the keys of a run; what is returned makes them what they were, and leaves all others, as those of the queue. */
export async function keepRun(redis, runId) {
  const keys = await redis.command('KEYS', `workflow:*{${runId}}*`);
  const copy = (key) => `kept:${key}`;
  for (const key of keys) await redis.command('COPY', key, copy(key), 'REPLACE');
  return async () => {
    for (const key of await redis.command('KEYS', `workflow:*{${runId}}*`)) await redis.command('DEL', key);
    for (const key of keys) await redis.command('COPY', copy(key), key);
  };
}
