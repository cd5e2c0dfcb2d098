// @ts-check
// Kills everything while runs are in progress, and reports the result:
//   node run.mjs --minutes 12 --seed 1 --mode standalone --durability local --verbose
// With --short, faults and streams are shorter, as in the tests. --only failover,kill selects the faults, --every 20
// sets the seconds between two faults.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { chaos, LONG, SHORT } from './chaos.mjs';
import { WAYS } from './faults.mjs';
import { MODES } from './modes.mjs';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '12' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    rate: { type: 'string' },
    open: { type: 'string' },
    mode: { type: 'string', default: 'standalone' },
    durability: { type: 'string' },
    only: { type: 'string' },
    every: { type: 'string' },
    short: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});
const size = values.short ? SHORT : LONG;
const [minutes, seed, rate, most] = [values.minutes, values.seed, values.rate ?? size.rate, values.open ?? size.most].map(Number);
if (![minutes, rate, most].every((n) => n > 0) || !Number.isInteger(seed)) throw new Error('--minutes, --rate and --open are numbers above 0, --seed is a whole one');
if (!(values.mode in MODES)) throw new Error(`--mode is one of ${Object.keys(MODES).join(', ')}`);

const ways = values.only?.split(',');
for (const way of ways ?? []) if (!(way in WAYS)) throw new Error(`--only is a list of ${Object.keys(WAYS).join(', ')}`);
const every = values.every === undefined ? size.every : [Number(values.every) * 1000, Number(values.every) * 1000];
if (!(every[0] > 0)) throw new Error('--every is a number of seconds above 0');

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort(new Error(`ended by ${signal}`)));

const began = Date.now();
const log = (line) => console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s  ${line}`);
const given = ['rate', 'open', 'durability', 'only', 'every']
  .filter((name) => values[name] !== undefined)
  .map((name) => ` --${name} ${values[name]}`)
  .join('');
const again = `--mode ${values.mode} --seed ${seed} --minutes ${minutes}${values.short ? ' --short' : ''}${given}`;
log(`seed ${seed}; again with CHAOS_ARGS='${again}'`);

const report = await chaos({
  ...size,
  ...{ seed, seconds: minutes * 60, rate, most, ways, every, mode: values.mode, durability: values.durability },
  log: (line) => (values.verbose || !/^(kill|freeze|drop|refuse|failover) /.test(line)) && log(line),
  signal: stop.signal,
}).catch((error) => {
  if (!stop.signal.aborted) throw error;
  return undefined;
});
if (report) console.log(`\n${again}\n${report}`);
else log(stop.signal.reason.message);
process.exitCode = report?.ok ? 0 : 1;
