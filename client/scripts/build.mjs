// @ts-check
/**
 * Builds the client. `build` holds the compiled modules one by one, which tests and fuzzing load. `dist` is what npm
 * publishes: `index.js`, one file with all that the client needs, so that an app installs, traces and copies nothing
 * else; `index.mjs` for `import`; and the types of what both export.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { BUNDLED } from './bundled.mjs';

const client = fileURLToPath(new URL('..', import.meta.url));
const [modules, dist] = [join(client, 'build'), join(client, 'dist')];
const manifest = (folder) => JSON.parse(readFileSync(join(client, folder, 'package.json'), 'utf8'));

function notices() {
  const { name, version, license, homepage } = manifest('.');
  const parts = [`${name} ${version}, ${license}, ${homepage}`, `It holds ${BUNDLED.join(' and ')}:`];
  for (const bundled of BUNDLED) {
    const folder = join('node_modules', bundled);
    parts.push(`${bundled} ${manifest(folder).version}\n\n${readFileSync(join(client, folder, 'LICENSE'), 'utf8').trim()}`);
  }
  return `/*!\n${parts.join('\n\n').replaceAll(/^/gm, ' * ').replaceAll(/ +$/gm, '')}\n */`;
}

/** Copies a file of types, and those that it imports. */
function copyTypes(file, copied = new Set()) {
  if (copied.has(file)) return;
  copied.add(file);
  mkdirSync(dirname(join(dist, file)), { recursive: true });
  cpSync(join(modules, file), join(dist, file));
  for (const [, target] of readFileSync(join(modules, file), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']*)\.js'/g)) {
    copyTypes(join(dirname(file), `${target}.d.ts`), copied);
  }
}

for (const folder of [modules, dist]) rmSync(folder, { recursive: true, force: true });
execFileSync(process.execPath, [join(client, 'node_modules/typescript/bin/tsc'), '-p', client], { stdio: 'inherit' });

await build({
  absWorkingDir: client,
  entryPoints: ['src/index.ts'],
  outfile: 'dist/index.js',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20.18',
  charset: 'utf8',
  legalComments: 'none', // `notices` has them whole
  banner: { js: notices() },
  // ws would look for native parts in the app's node_modules, and nothing here may write to stdout.
  define: { 'process.env.WS_NO_BUFFER_UTIL': '"1"', 'process.env.WS_NO_UTF_8_VALIDATE': '"1"' },
  drop: ['console'],
  logLevel: 'warning',
});
cpSync(join(modules, 'index.mjs'), join(dist, 'index.mjs'));
for (const types of ['index.d.ts', 'index.d.mts']) copyTypes(types);
