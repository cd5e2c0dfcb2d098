// @ts-check
// A Redis that loses its last writes, like a replica that becomes the master without them.
import { RedisServer } from './redis.mjs';
import { until } from './wait.mjs';

/** Follows a Redis until it is stopped; later the Redis is reset to that state. It ends with the test `t`. */
export async function startShadow(t, redis) {
  const shadow = await RedisServer.start({ persistent: false });
  t.after(() => shadow.stop());
  await follow(shadow, redis);
  return {
    /** Stops following once `is` is true for the data; `is` gets a function that runs a command on it. */
    async stop(is) {
      await until('the moment to go back to', () => is((...words) => shadow.command(...words)));
      await shadow.command('REPLICAOF', 'NO', 'ONE');
    },
    /** Removes everything that came since. */
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

const KEEP = `
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  redis.call('COPY', key, 'kept:' .. key, 'REPLACE')
end`;
const RESTORE = `
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  redis.call('DEL', key)
end
for _, key in ipairs(redis.call('KEYS', 'kept:' .. ARGV[1])) do
  redis.call('COPY', key, string.sub(key, 6))
end`;

/**
 * Copies the keys of a run. The returned function restores them, and leaves all others, such as the queue's, unchanged.
 * Each is one script: no call of the app comes between, as none does between the writes of a script that a failover loses.
 */
export async function keepRun(redis, runId) {
  const keys = `workflow:*{${runId}}*`;
  await redis.command('EVAL', KEEP, '0', keys);
  return () => redis.command('EVAL', RESTORE, '0', keys);
}
