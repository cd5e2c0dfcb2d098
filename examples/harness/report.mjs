// @ts-check
// What the run of the examples prints: a line for each trial, and a table of all at the end.

const COLUMNS = /** @type {const} */ ([
  ['example', (row) => row.name],
  ['SDK', (row) => row.sdk],
  ['mode', (row) => row.mode],
  ['result', (row) => row.result],
  ['install', (row) => seconds(row.install)],
  ['build', (row) => seconds(row.build)],
  ['ready', (row) => seconds(row.ready)],
  ['run', (row) => seconds(row.run)],
  ['install to first run', (row) => seconds(row.first)],
  ['', (row) => (row.result === 'passed' ? '' : row.note)],
]);

const seconds = (ms) => (ms === undefined ? '' : `${(ms / 1000).toFixed(1)} s`);

export const heading = (text) => `\n── ${text}`;

export const line = (row) =>
  [
    `${row.mode}: ${row.result}`,
    ...['install', 'build', 'ready', 'run'].filter((key) => row[key]).map((key) => `${key} ${seconds(row[key])}`),
    ...(row.note ? [row.note] : []),
  ].join(', ');

export function table(rows) {
  const cells = [COLUMNS.map(([title]) => title), ...rows.map((row) => COLUMNS.map(([, of]) => of(row) ?? ''))];
  const widths = COLUMNS.map((_, i) => Math.max(...cells.map((row) => row[i].length)));
  return cells
    .map((row) =>
      row
        .map((text, i) => text.padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
