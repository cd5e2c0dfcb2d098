// @ts-check
// Shared code of the workers that use a World: loading its package, ids, and printing the result.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(join(process.cwd(), 'index.js'));
const { monotonicFactory } = await import(pathToFileURL(require.resolve('ulid')).href);

export const settings = JSON.parse(process.argv[2]);

/** A new World of the package in the settings; `options` are for packages that accept some. */
export function openWorld(options) {
  const module = require(settings.package);
  return (module.createWorld ?? module.createLocalWorld ?? module.default)(options);
}

// Like the SDK's ids. Plain ulid() asks the system for randomness for each letter: a quarter of this process's CPU.
const [forRuns, forSteps] = [monotonicFactory(), monotonicFactory(() => Math.random())];
export const runId = () => `wrun_${forRuns()}`;
export const stepId = () => `step_${forSteps()}`;

/** Bytes that do not compress well. */
export function bytes(size) {
  return Uint8Array.from({ length: size }, (_, i) => (i * 31 + 7) & 255);
}

/** Creates an event like the SDK: spec version 3, or 2 for a World that refuses 3. */
export async function create(world, run, event) {
  return world.events.create(run, { specVersion: settings.specVersion ?? 3, ...event }, { v1Compat: false });
}

export function report(result) {
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}
