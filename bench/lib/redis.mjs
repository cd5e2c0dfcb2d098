// @ts-check
// A redis-server without persistence, and what the bench asks of it.
import { RedisServer } from '../../e2e/lib/redis.mjs';

/** With `hugePages` its allocator asks for them, where the system grants them to those who ask (`madvise`) or to all. */
export const startRedis = ({ hugePages = false } = {}) =>
  RedisServer.start({ persistent: false, ...(hugePages && { more: ['--disable-thp', 'no'], env: { MALLOC_CONF: 'thp:always' } }) });

/** Bytes that the server holds for its data. */
export async function usedMemory(redis) {
  return Number(/^used_memory:(\d+)/m.exec(await redis.command('INFO', 'memory'))[1]);
}

/**
 * What the server has done so far, this function's own questions left out: commands, those inside of scripts included,
 * and reads from its clients' sockets, which are the round trips.
 */
async function counters(redis) {
  const stats = await redis.command('INFO', 'commandstats');
  const calls = [...stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)].filter(([, name]) => name !== 'info');
  const reads = /^total_reads_processed:(\d+)/m.exec(await redis.command('INFO', 'stats'))[1];
  return { commands: calls.reduce((sum, [, , n]) => sum + Number(n), 0), reads: Number(reads) };
}

/** Commands and round trips a second while nothing happens, seen for so many seconds. */
export async function idleLoad(redis, seconds) {
  const before = await counters(redis);
  await new Promise((done) => setTimeout(done, seconds * 1000));
  const after = await counters(redis);
  // Each look reads twice, and its connections' ends are read, too: four lie between the two readings.
  return { commands: (after.commands - before.commands) / seconds, reads: Math.max(0, after.reads - before.reads - 4) / seconds };
}
