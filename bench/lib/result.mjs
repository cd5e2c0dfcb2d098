// @ts-check
// Writes the results of a bench: JSON for programs, Markdown for docs/performance.md.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkBars, markdownTable } from './table.mjs';

/** Writes `<date>.json`, `latest.json` and `latest.md` and returns the path of the first. */
export async function writeResult(result, folder) {
  await mkdir(folder, { recursive: true });
  const bars = result.suites.flatMap((suite) =>
    suite.metrics.flatMap((metric) => metric.results.flatMap((r) => checkBars(metric, r).map((bar) => ({ metric: `${suite.name}/${metric.id}`, ...bar })))),
  );
  const text = JSON.stringify({ ...result, bars }, null, 2);
  const file = join(folder, `${result.machine.date.replace(/[:.]/g, '-')}.json`);
  await Promise.all([writeFile(file, text), writeFile(join(folder, 'latest.json'), text), writeFile(join(folder, 'latest.md'), markdownTable(result))]);
  return file;
}
