// @ts-check
// Runs e2e/*.test.mjs, several files at a time:
//   node run.mjs 4     four of them
import { readdirSync } from 'node:fs';
import { run } from 'node:test';
import { spec as Spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

const concurrency = Number(process.argv[2]);
const timeout = 300_000;

/** These take longest and start first, so that the others run at the same time and none is left at the end. */
const FIRST = [
  'recovery-service',
  'shutdown',
  'cli',
  'chaos',
  'addresses',
  'chaos-sentinel',
  'chaos-cluster',
  'streams-after-end',
  'mixed',
  'forgotten',
  'volume',
  'signing',
  'workflows',
  'stream-retries',
  'rollback',
  'outages',
  'races',
  'crashes',
];

const at = (file) => fileURLToPath(new URL(file, import.meta.url));
const place = (file) => (FIRST.indexOf(file.split('.')[0]) + FIRST.length + 1) % (FIRST.length + 1);
const files = readdirSync(at('.'))
  .filter((file) => file.endsWith('.test.mjs'))
  .sort()
  .sort((a, b) => place(a) - place(b));

run({ files: files.map(at), concurrency, timeout, execArgv: [`--test-timeout=${timeout}`] })
  .on('test:summary', ({ success }) => success || (process.exitCode = 1))
  .compose(new Spec())
  .pipe(process.stdout);
