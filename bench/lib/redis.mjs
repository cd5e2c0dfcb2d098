// @ts-check
// A redis-server without persistence, and the bench's queries to it.
import { RedisServer } from '../../e2e/lib/redis.mjs';

/** With `hugePages` its allocator requests them; it gets them if the system grants them on request (`madvise`) or always. */
export const startRedis = ({ hugePages = false } = {}) =>
  RedisServer.start({ persistent: false, ...(hugePages && { more: ['--disable-thp', 'no'], env: { MALLOC_CONF: 'thp:always' } }) });

/** Bytes that the server holds for its data. */
export async function usedMemory(redis) {
  return Number(/^used_memory:(\d+)/m.exec(await redis.command('INFO', 'memory'))?.[1]);
}

/**
 * The server's work so far, without that of this function: commands, including those inside scripts, and reads from
 * client sockets, which are the round trips.
 */
async function counters(redis) {
  const stats = await redis.command('INFO', 'commandstats');
  const calls = [...stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)].filter(([, name]) => name !== 'info');
  const reads = /^total_reads_processed:(\d+)/m.exec(await redis.command('INFO', 'stats'))?.[1];
  return { commands: calls.reduce((sum, [, , n]) => sum + Number(n), 0), reads: Number(reads) };
}

/** Commands and round trips per second of an idle server, over this many seconds. */
export async function idleLoad(redis, seconds) {
  const before = await counters(redis);
  await new Promise((done) => setTimeout(done, seconds * 1000));
  const after = await counters(redis);
  // Each query causes two reads, and the ends of its connections are read, too: four in total between the two
  // queries.
  return { commands: (after.commands - before.commands) / seconds, reads: Math.max(0, after.reads - before.reads - 4) / seconds };
}
