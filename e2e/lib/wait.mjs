// @ts-check
// Waits for a condition outside this process.
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks `probe` again and again until it returns something truthy, and returns that. Errors of the
 * probe count as "not yet"; after `timeout` milliseconds the last of them becomes the cause.
 *
 * @template T
 * @param {string} what
 * @param {() => T | Promise<T>} probe
 * @param {{ timeout?: number, every?: number, child?: { alive: boolean, name: string, tail: string } }} [options] `child`: it must not end meanwhile
 * @returns {Promise<Exclude<T, false | null | undefined>>}
 */
export async function until(what, probe, { timeout = 60_000, every = 25, child } = {}) {
  const deadline = performance.now() + timeout;
  let cause;
  for (;;) {
    if (child && !child.alive) throw new Error(`${child.name} ended while waiting for ${what}:\n${child.tail}`);
    try {
      const answer = await probe();
      if (answer) return /** @type {any} */ (answer);
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) throw new Error(`waited ${timeout} ms in vain for ${what}`, { cause });
    await delay(every);
  }
}
