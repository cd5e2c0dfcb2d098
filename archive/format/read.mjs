// @ts-check
// Prints what is in an archived run: node read.mjs FILE. It needs nothing but Node, and follows docs/archive.md.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** @typedef {{ bytes: Buffer, at: number }} Input */

/**
 * Reads the head of an item: its major type and its number.
 * @param {Input} input
 */
function head(input) {
  const first = input.bytes[input.at++] ?? 0;
  const info = first & 31;
  let n = info;
  if (info >= 24 && info <= 27) {
    n = 0;
    for (let i = 0; i < 1 << (info - 24); i++) n = n * 256 + (input.bytes[input.at++] ?? 0);
  }
  return { major: first >> 5, info, n };
}

/**
 * Reads an item.
 * @param {Input} input
 * @returns {unknown}
 */
function item(input) {
  const { major, info, n } = head(input);
  const end = input.at + n;
  switch (major) {
    case 0:
      return n;
    case 1:
      return -n - 1;
    case 2:
    case 3: {
      const content = input.bytes.subarray(input.at, end);
      input.at = end;
      return major === 3 ? content.toString() : content;
    }
    case 4:
      return Array.from({ length: n }, () => item(input));
    case 5:
      return Object.fromEntries(Array.from({ length: n }, () => [item(input), item(input)]));
    case 6: {
      const inner = item(input);
      return n === 24 && Buffer.isBuffer(inner) ? item({ bytes: inner, at: 0 }) : inner;
    }
    default:
      if (info === 27) return input.bytes.readDoubleBE(input.at - 8);
      return info === 20 ? false : info === 21 ? true : null;
  }
}

const input = { bytes: gunzipSync(readFileSync(process.argv[2] ?? '')), at: 0 };
/** @type {Record<string, number>} */
let seen = {};
while (input.at < input.bytes.length) {
  const [kind, fields] = /** @type {[string, Record<string, unknown>]} */ (item(input));
  console.log(
    kind,
    JSON.stringify(fields, (_, value) => (value?.type === 'Buffer' ? `<${value.data.length} bytes>` : value)),
  );
  if (kind === 'end') {
    for (const [what, count] of Object.entries(fields)) {
      if ((seen[what] ?? 0) !== count) throw new Error(`the end counts ${count} ${what}, and there are ${seen[what] ?? 0}`);
    }
    seen = {};
  }
  seen[`${kind}s`] = (seen[`${kind}s`] ?? 0) + 1;
}
