// @ts-check
// The bench's progress, on stderr, so that stdout has only the table.
const began = performance.now();

/** One line with the time since the start. */
export function say(text) {
  const seconds = Math.round((performance.now() - began) / 1000);
  const clock = `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`;
  process.stderr.write(`${clock}  ${text}\n`);
}
