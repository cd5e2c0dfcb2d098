// @ts-check
// The examples and docs/frameworks.md say the same, and an example is no more than it should be. `make examples` runs them.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { examples, folder } from '../examples/harness/list.mjs';
import { world } from './lib/paths.mjs';

const guide = readFileSync(fileURLToPath(new URL('../docs/frameworks.md', import.meta.url)), 'utf8');
const all = examples();

/** The files of an example that have this name, one for each SDK that has its own. */
const filesOf = (name, file) => ['', 'v4', 'v5'].map((sdk) => join(folder, name, sdk, file)).filter(existsSync);

test('each code block of docs/frameworks.md that names a file is in that file of an example of its section', () => {
  let blocks = 0;
  for (const section of guide.split(/^## /m).slice(1)) {
    const linked = [...section.matchAll(/\.\.\/examples\/([\w.-]+)/g)].map(([, name]) => name);
    for (const [, code] of section.matchAll(/^```\w*\n(.*?)^```/gms)) {
      const [first, ...lines] = code.split('\n');
      const file = /^(?:\/\/|#) (?<file>[\w./[\]-]+\.\w+)/.exec(first)?.groups?.file;
      if (!file) continue;
      blocks++;
      // `// …` stands for what the recipe leaves out.
      const pieces = lines
        .join('\n')
        .split(/^ *\/\/ …\n/m)
        .map((piece) => piece.trimEnd())
        .filter(Boolean);
      const candidates = linked.flatMap((name) => filesOf(name, file));
      const found = candidates.some((path) => pieces.every((piece) => readFileSync(path, 'utf8').includes(piece)));
      assert.ok(found, `no example of the section "${section.split('\n')[0]}" has this in its ${file} (looked in ${candidates.join(', ') || 'none'}):\n${code}`);
    }
  }
  assert.ok(blocks > 10, `only ${blocks} blocks name a file`);
});

test('the table of docs/frameworks.md has what each example.json says', () => {
  const table = guide.split('\n').filter((line) => line.startsWith('| [') && line.includes('../examples/'));
  const rows = new Map(
    table
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      )
      .map(([name, sdk, ...cells]) => [`${/examples\/([\w.-]+)/.exec(name)?.[1]} ${sdk}`, cells]),
  );
  const expected = all.flatMap((example) =>
    example.sdk.map((sdk) => {
      const cell = (mode, start) => (!start ? '–' : example.unsupported?.[`${sdk} ${mode}`] ? 'no' : 'yes');
      return /** @type {const} */ ([`${example.name} ${sdk}`, [cell('dev', example.dev), cell('production', example.start), cell('moved', example.moved)]]);
    }),
  );
  assert.deepEqual(Object.fromEntries([...rows].sort()), Object.fromEntries(expected.sort()));
});

// An example may have the files of another, which are read there.
for (const { name, sdk } of all.filter(({ name, files }) => name === files)) {
  test(`${name}: the shared workflow, exact versions, and lock files without the client or a registry`, () => {
    const shared = readFileSync(join(folder, 'hono/workflows/order.ts'), 'utf8');
    const places = ['workflows', 'src/workflows', 'server/workflows', 'app/workflows'].map((place) => join(folder, name, place, 'order.ts')).filter(existsSync);
    assert.equal(places.length, 1, 'one workflows folder');
    assert.equal(readFileSync(places[0], 'utf8'), shared);

    const packages = filesOf(name, 'package.json').map((path) => JSON.parse(readFileSync(path, 'utf8')));
    assert.equal(packages.length, sdk.length, 'a package.json for each SDK');
    for (const { dependencies, devDependencies } of packages) {
      for (const [dependency, version] of Object.entries({ ...dependencies, ...devDependencies })) assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, dependency);
    }
    const locks = filesOf(name, 'package-lock.json');
    assert.equal(locks.length, sdk.length, 'a lock file for each SDK');
    for (const path of locks) {
      const text = readFileSync(path, 'utf8');
      assert.ok(!text.includes(world), `${path} has the client`);
      assert.doesNotMatch(text, /"resolved": "(?!https:\/\/registry\.npmjs\.org\/)/, path);
    }
  });
}
