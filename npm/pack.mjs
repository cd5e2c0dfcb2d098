// @ts-check
/**
 * Packs the npm package `world-redis` and those of the platforms:
 *
 *   node npm/pack.mjs BINARIES OUT
 *
 * BINARIES is a folder with a file for each platform, named after it (linux-x64); `make dist` fills it. The tarballs come
 * into OUT. All have the version of the client.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'];

const root = fileURLToPath(new URL('..', import.meta.url));
const [binaries, out] = process.argv.slice(2).map((path) => resolve(path));
const { version, license, homepage, bugs, repository, keywords, engines, publishConfig } = JSON.parse(readFileSync(join(root, 'client/package.json'), 'utf8'));
const common = { version, license, homepage, bugs, repository: { ...repository, directory: 'npm' }, publishConfig, type: 'commonjs' };

const work = mkdtempSync(join(tmpdir(), 'world-redis-npm-'));
process.on('exit', () => rmSync(work, { recursive: true }));

/** Packs a folder with these fields and files, a path in the package for each file here. */
function pack(fields, files) {
  const folder = join(work, fields.name);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(fields, null, 2)}\n`);
  for (const [path, file] of Object.entries({ LICENSE: join(root, 'LICENSE'), ...files })) cpSync(file, join(folder, path));
  for (const path of Object.keys(files)) if (path.startsWith('bin/')) chmodSync(join(folder, path), 0o755);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

mkdirSync(out, { recursive: true });
pack(
  {
    name: 'world-redis',
    description: 'A World for the Vercel Workflow SDK on your own Redis: the service',
    keywords,
    ...common,
    bin: { 'world-redis': 'bin/world-redis.cjs' },
    files: ['bin'],
    engines,
    optionalDependencies: Object.fromEntries(PLATFORMS.map((platform) => [`@world-redis/${platform}`, version])),
  },
  { 'bin/world-redis.cjs': join(root, 'npm/launcher.cjs'), 'README.md': join(root, 'npm/README.md') },
);
for (const platform of PLATFORMS.filter((one) => existsSync(join(binaries, one)))) {
  const [os, cpu] = platform.split('-');
  const name = `@world-redis/${platform}`;
  const readme = join(work, 'README.md');
  writeFileSync(readme, `# ${name}\n\nThe binary of [world-redis](https://www.npmjs.com/package/world-redis) for ${platform}. Install \`world-redis\`, which chooses it.\n`);
  pack(
    // Yarn's Plug'n'Play keeps packages in archives, where nothing can be started.
    { name, description: `The binary of world-redis for ${platform}`, ...common, os: [os], cpu: [cpu], preferUnplugged: true, files: ['bin'] },
    { [`bin/world-redis${os === 'win32' ? '.exe' : ''}`]: join(binaries, platform), 'README.md': readme },
  );
}
