// @ts-check
// `make bench`: measures world-redis and its peers in turn and prints one table. docs/performance.md explains it.
import { patience } from './lib/job.mjs';
import { describeMachine } from './lib/machine.mjs';
import { readOptions, usage } from './lib/options.mjs';
import { outFolder } from './lib/paths.mjs';
import { say } from './lib/progress.mjs';
import { writeResult } from './lib/result.mjs';
import { runSuite } from './lib/rounds.mjs';
import { plainTable } from './lib/table.mjs';
import { suites } from './suites/index.mjs';

let options;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error.message}\n${usage}\n`);
  process.exit(2);
}
if (options.help) {
  process.stdout.write(`${usage}\n`);
  process.exit(0);
}
if (options.list) {
  for (const suite of suites) {
    process.stdout.write(`${suite.name}${suite.fullOnly ? ' (at full scale, or when asked for)' : ''}: ${suite.title}\n`);
    process.stdout.write(`  contenders: ${suite.contenders.join(', ')}\n`);
    for (const metric of suite.metrics) process.stdout.write(`  ${suite.name}/${metric.id}: ${metric.title}, ${metric.unit}\n`);
  }
  process.exit(0);
}

if (options.scale !== 'full') patience.ms = 30_000;
// With exit(), so that no server of ours outlives an interrupted bench.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

/** @type {{ machine: ReturnType<typeof describeMachine>, scale: string, suites: object[] }} */
const result = { machine: describeMachine(), scale: options.scale, suites: [] };
if (result.machine.busy) say(`the machine is busy (load ${result.machine.loadAtStart}): take figures of record when it is quiet`);
for (const { suite, metrics } of chosen(options.only)) {
  if (options.worlds && !suite.contenders.some((name) => options.worlds.includes(name))) continue;
  result.suites.push(await runSuite(suite, { ...options, metrics }));
  // Written after each suite, so that results of hours do not depend on the last suite.
  say(`written to ${await writeResult(result, options.out ?? outFolder)}`);
}
process.stdout.write(plainTable(result), () => process.exit(0)); // exits even if a failed contender left something open

/** The suites in --only, each with the requested metrics (undefined means all). */
function chosen(only) {
  if (!only) return suites.filter(({ fullOnly }) => !fullOnly || options.scale === 'full').map((suite) => ({ suite }));
  const byName = new Map();
  for (const word of only) {
    const [name, metric] = word.split('/');
    const suite = suites.find((s) => s.name === name);
    const known = suite && (!metric || suite.metrics.some(({ id }) => id === metric));
    if (!known) {
      process.stderr.write(`--only ${word}: there is no such suite or metric; --list shows them\n`);
      process.exit(2);
    }
    const entry = byName.get(name) ?? { suite, metrics: new Set() };
    byName.set(name, entry);
    if (!metric) entry.metrics = undefined;
    else entry.metrics?.add(metric);
  }
  return [...byName.values()];
}
