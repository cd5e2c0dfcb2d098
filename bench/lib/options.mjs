// @ts-check
// The command line of bench/run.mjs.
import { parseArgs } from 'node:util';

export const usage = `usage: node bench/run.mjs [options]

  --only LIST      suites, or suite/metric (failover/sentinel-planned-live), separated by commas; all of the
                   scale if left out, and --list shows them
  --worlds LIST    contenders to measure, separated by commas; all if left out
  --rounds N       how often each contender is measured, in turn with the others (default 5)
  --scale NAME     full, quick or tiny: how much each measurement does (default full)
  --out FOLDER     where the JSON and the Markdown table go (default bench/out)
  --list           show suites, metrics and contenders, and stop`;

/** Reads the command line. It throws an error with a sentence for the user if an option is invalid. */
export function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: 'string' },
      worlds: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      scale: { type: 'string', default: 'full' },
      out: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds ${values.rounds}: a whole number from 1 on`);
  if (!['full', 'quick', 'tiny'].includes(values.scale)) throw new Error(`--scale ${values.scale}: full, quick or tiny`);
  return { ...values, rounds, only: listOf(values.only), worlds: listOf(values.worlds) };
}

function listOf(text) {
  return text
    ?.split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}
