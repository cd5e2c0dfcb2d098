// @ts-check
// `bench-load`, the part of the bench written in Go.
import { run } from '../../e2e/lib/process.mjs';
import { loadBinary } from './paths.mjs';

/** Runs one of its commands and returns what it measured. */
export async function load(command, flags) {
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const done = await run(loadBinary, [command, ...args], { timeout: 900_000 });
  if (done.code !== 0) throw new Error(`bench-load ${command} ended with ${done.code}: ${done.tail.trim().split('\n').at(-1)}`);
  return JSON.parse(done.stdout);
}
