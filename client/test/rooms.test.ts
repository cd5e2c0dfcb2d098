/** Who may import whom in the client's source, imports of types included. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { test } from 'node:test';
import { clientEntry } from './helpers/client.js';

const source = join(dirname(clientEntry), '..', 'src');

/** The folders; a file imports from its own and from those before it. The empty one is for config.ts and types.ts, which all may read. */
const ROOMS = ['sdk', '', 'wire', 'transport', 'address', 'delivery', 'world'];
/** They stand above all rooms: what the package offers to `require`, and the same for `import`. */
const ENTRIES = ['index.ts', 'index.mts'];

function roomOf(file: string): number {
  const entry = ENTRIES.indexOf(file);
  if (entry !== -1) return ROOMS.length + entry;
  return ROOMS.indexOf(file.includes('/') ? posix.dirname(file) : '');
}

/** Each file with those that it imports, by their paths in the source folder. */
function imports(): Map<string, string[]> {
  const files = readdirSync(source, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const file = relative(source, path).replaceAll('\\', '/');
      const found = readFileSync(path, 'utf8').matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*'(\.[^']*)\.js'/g);
      return [file, [...found].map(([, target]) => `${posix.join(posix.dirname(file), target as string)}.ts`)];
    }),
  );
}

/** A way from a file back to itself; undefined if there is none. */
function cycle(graph: Map<string, string[]>): string[] | undefined {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    done.add(file);
    for (const next of graph.get(file) ?? []) {
      const found = visit(next, [...path, file]);
      if (found) return found;
    }
    return undefined;
  };
  for (const file of graph.keys()) {
    const found = visit(file, []);
    if (found) return found;
  }
  return undefined;
}

test('every file is in a folder of the table, and every import is of a file', () => {
  const graph = imports();
  for (const entry of ENTRIES) assert.ok((graph.get(entry)?.length ?? 0) > 0, entry);
  for (const [file, targets] of graph) {
    assert.notEqual(roomOf(file), -1, file);
    for (const target of targets) assert.ok(graph.has(target), `${file} imports ${target}`);
  }
});

test('no file imports itself through others', () => {
  assert.equal(
    cycle(
      new Map([
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['a']],
      ]),
    )?.join(' → '),
    'a → b → c → a',
  );
  assert.equal(cycle(imports())?.join(' → '), undefined);
});

test('no file imports from a folder above its own', () => {
  for (const [file, targets] of imports()) {
    for (const target of targets) assert.ok(roomOf(target) <= roomOf(file), `${file} imports ${target}`);
  }
});
