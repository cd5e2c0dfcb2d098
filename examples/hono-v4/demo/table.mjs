// Prints rows as a table: columns as wide as they need to be, numbers to the right.

const width = (text) => [...text].length;

export function table(columns, rows) {
  const cells = rows.map((row) => columns.map(({ key }) => (row[key] == null ? '' : String(row[key]))));
  const widths = columns.map(({ title }, i) => Math.max(width(title), ...cells.map((row) => width(row[i]))));
  const line = (row) =>
    row
      .map((text, i) => {
        const padding = ' '.repeat(widths[i] - width(text));
        return columns[i].right ? padding + text : text + padding;
      })
      .join('  ')
      .trimEnd();
  return [line(columns.map((c) => c.title)), widths.map((w) => '─'.repeat(w)).join('  '), ...cells.map(line)].map((text) => `  ${text}`).join('\n');
}
