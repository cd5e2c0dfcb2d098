// @ts-check
// The result as a table, with a row for each metric and contender.

const columns = ['metric', 'contender', 'median', 'spread', 'ratio', 'spread of it', 'bar'];

/** The table's rows, by suite. */
function rowsOf(suite) {
  return suite.metrics.flatMap((metric) =>
    metric.results.map((result, i) => [
      i === 0 ? metric.title : '',
      result.contender,
      ...(result.median === undefined
        ? [result.failed ? `failed: ${result.failed}` : (result.skipped ?? 'not measured'), '', '', '', '']
        : [
            `${figure(result.median)} ${metric.unit}`,
            result.failed ? `then failed: ${result.failed}` : spread(result.min, result.max),
            ...ratio(metric, result),
            barsOf(metric, result),
          ]),
    ]),
  );
}

/** A ratio is "this contender ÷ the peer": of the medians, and its minimum and maximum within one round. */
function ratio(metric, result) {
  const peer = metric.results.find(({ contender }) => contender === metric.peer);
  if (!peer || peer.median === undefined || peer.contender === result.contender) return ['', ''];
  const byRound = result.byRound.map((v, i) => v / peer.byRound[i]).filter((v) => Number.isFinite(v) && v > 0);
  const range = byRound.length > 1 ? spread(Math.min(...byRound), Math.max(...byRound)) : '';
  return [`${figure(result.median / peer.median)} × ${peer.contender}`, range];
}

function barsOf(metric, result) {
  if (!result.contender.startsWith('world-redis') || result.contender === 'world-redis-bullmq') return '';
  return checkBars(metric, result)
    .map(({ text, holds, value }) => `${text}: ${holds === undefined ? 'no peer' : holds ? 'holds' : `MISSED (${figure(value)})`}`)
    .join('; ');
}

/** The limits for this contender, and whether they hold. */
export function checkBars(metric, result) {
  return (metric.bars ?? [])
    .filter(({ of = 'world-redis' }) => of === result.contender)
    .map(({ peer: name, max, min }) => {
      const peer = name && metric.results.find(({ contender }) => contender === name);
      const value = name ? result.median / (peer?.median ?? Number.NaN) : result.median;
      const text = `${max === undefined ? `≥ ${min}` : `≤ ${max}`}${name ? ` × ${name}` : ` ${metric.unit}`}`;
      const known = Number.isFinite(value);
      return { text, value: known ? value : null, holds: known ? (max === undefined ? value >= min : value <= max) : undefined };
    });
}

function spread(min, max) {
  return `${figure(min)}–${figure(max)}`;
}

/** Three significant digits, without meaningless decimals. */
function figure(n) {
  const size = Math.abs(n);
  if (size >= 1000) return Math.round(n).toLocaleString('en-US');
  return String(Number(n.toPrecision(size >= 100 ? 3 : size >= 1 ? 3 : 2)));
}

/** Aligned columns for a terminal. */
export function plainTable(result) {
  const out = [machineLine(result.machine)];
  for (const suite of result.suites) {
    const rows = [columns, ...rowsOf(suite)];
    const widths = columns.map((_, i) => Math.max(...rows.filter((r) => !/^(failed|not measured|left out)/.test(r[2]) || i < 2).map((r) => r[i].length)));
    out.push('', `${suite.title}  (${suite.rounds} rounds)`);
    out.push(
      ...rows.map((row) =>
        row
          .map((cell, i) => cell.padEnd(widths[i]))
          .join('  ')
          .trimEnd(),
      ),
    );
  }
  return `${out.join('\n')}\n`;
}

/** The same in Markdown, for docs/performance.md. */
export function markdownTable(result) {
  const out = [machineLine(result.machine)];
  for (const suite of result.suites) {
    out.push('', `### ${suite.title}`, '', `${suite.rounds} rounds.`, '');
    out.push(`| ${columns.join(' | ')} |`, `|${'---|'.repeat(columns.length)}`);
    out.push(...rowsOf(suite).map((row) => `| ${row.join(' | ')} |`));
  }
  return `${out.join('\n')}\n`;
}

function machineLine(m) {
  const busy = m.busy ? `; the machine was BUSY (load ${m.loadAtStart}): figures are provisional` : '';
  return `${m.date.slice(0, 10)}, commit ${m.commit}, ${m.cores} cores of ${m.cpu}, ${m.memoryGB} GB, Node ${m.node}, ${m.go}, Redis ${m.redis}${busy}`;
}
