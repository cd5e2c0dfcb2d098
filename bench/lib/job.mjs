// @ts-check
// A measurement in its own process: bench/workers/NAME.mjs, run in an app's folder so that it finds the app's
// packages. Its first argument is its settings as JSON, and it prints its result as one line of JSON.
import { run } from '../../e2e/lib/process.mjs';
import { appFolder, nodeOf, worker } from './paths.mjs';

/** How long one measurement may take before it counts as failed; run.mjs sets it by the scale. */
export const patience = { ms: 300_000 };

/** Runs a worker to its end and returns what it measured. */
export async function job(name, app, settings, env) {
  const done = await run(nodeOf(app), [...nodeFlags(), worker(name), JSON.stringify(settings)], { cwd: appFolder(app), env, timeout: patience.ms });
  const line = done.stdout.trim().split('\n').at(-1);
  if (done.code === 'SIGKILL') throw new Error(`${name}: not finished after ${patience.ms / 1000} s`);
  if (done.code !== 0 || !line) throw new Error(`${name}: ended with ${done.code}: ${lastLine(done.tail)}`);
  return JSON.parse(line);
}

/** BENCH_NODE_FLAGS, such as `--cpu-prof --cpu-prof-dir=/tmp/x`, go to every measured Node process. */
export function nodeFlags() {
  return process.env.BENCH_NODE_FLAGS?.split(' ').filter(Boolean) ?? [];
}

function lastLine(text) {
  const lines = text.trim().split('\n');
  return lines.find((line) => /Error|error:/.test(line)) ?? lines.at(-1);
}
