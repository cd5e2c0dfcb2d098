// @ts-check
// Runs the examples as their users would: each folder is copied to an empty one, installed from its lock file and the
// client's tarball, and then one order goes through it in development, in production, and from the output alone.
//
//   node examples/run.mjs [NAME…] [--mode dev,production,moved] [--sdk v4,v5] [--tested 'make test-examples'] [--world local] [--keep FOLDER] [--verbose]
//
// --world local uses the SDK's own World, to see what the SDK itself supports. --keep installs in that folder, and a
// later run with it uses what is installed there.
import { parseArgs } from 'node:util';
import { tryExample } from './harness/example.mjs';
import { removeFolders } from './harness/folders.mjs';
import { pack } from './harness/install.mjs';
import { examples, modes } from './harness/list.mjs';
import { heading, table } from './harness/report.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    mode: { type: 'string', default: modes.join() },
    sdk: { type: 'string', default: 'v4,v5' },
    tested: { type: 'string' },
    world: { type: 'string', default: 'world-redis' },
    keep: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, () => process.exit(1));
process.on('exit', () => removeFolders());

const chosen = examples(positionals, values.tested);
const rows = [];
const client = await pack();
for (const example of chosen) {
  for (const sdk of example.sdk.filter((name) => values.sdk.split(',').includes(name))) {
    console.log(heading(`${example.name} ${sdk}`));
    rows.push(...(await tryExample({ example, sdk, client, modes: values.mode.split(','), world: values.world, keep: values.keep, verbose: values.verbose })));
  }
}
console.log(`\n${table(rows)}`);
const failed = rows.filter((row) => row.result === 'failed').length;
const passed = rows.filter((row) => row.result === 'passed').length;
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed || !passed ? 1 : 0;
