// @ts-check
// What every worker that drives a World does: loads it by its package, makes ids, takes times, prints the result.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(join(process.cwd(), 'index.js'));
const { monotonicFactory } = await import(pathToFileURL(require.resolve('ulid')).href);

export const settings = JSON.parse(process.argv[2]);

/** A new World of the package that the settings name; `options` are for packages that take some. */
export function openWorld(options) {
  const module = require(settings.package);
  return (module.createWorld ?? module.createLocalWorld ?? module.default)(options);
}

// As the SDK makes its ids. Plain ulid() asks the system for randomness letter by letter: a quarter of this process's CPU.
const [forRuns, forSteps] = [monotonicFactory(), monotonicFactory(() => Math.random())];
export const runId = () => `wrun_${forRuns()}`;
export const stepId = () => `step_${forSteps()}`;

/** Bytes that do not compress to nothing. */
export function bytes(size) {
  return Uint8Array.from({ length: size }, (_, i) => (i * 31 + 7) & 255);
}

/** Makes an event as the SDK does: spec version 3, or 2 for a World that refuses 3. */
export async function create(world, run, event) {
  return world.events.create(run, { specVersion: settings.specVersion ?? 3, ...event }, { v1Compat: false });
}

export function report(result) {
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}
