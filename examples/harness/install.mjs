// @ts-check
// The project of an example, made as its users make it: the files, `npm ci`, then the client beside what the lock file has.
import { cpSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { clientFolder, serviceBinary } from '../../e2e/lib/paths.mjs';
import { run } from '../../e2e/lib/process.mjs';
import { makeFolder } from './folders.mjs';
import { folder } from './list.mjs';
import { npmEnv, toolsEnv } from './tools.mjs';

const NPM = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
const SDKS = ['v4', 'v5'];
/** What a run of the example leaves in its folder, and the files of its harness. */
const LEFT_OUT = new Set(['node_modules', 'example.json', ...SDKS]);

/** The client as its users get it: the tarball, and the file that the service prints. */
export async function pack() {
  const packed = makeFolder('client');
  await command('npm', ['pack', '--ignore-scripts', '--pack-destination', packed], { cwd: clientFolder, seconds: 60, env: npmEnv() });
  const tarball = join(packed, readdirSync(packed)[0]);
  const file = join(packed, 'world-redis.cjs');
  writeFileSync(file, (await command(serviceBinary, ['client'], { cwd: packed, seconds: 30 })).stdout);
  return { tarball, file };
}

/**
 * Copies the example, with the files of the SDK if it has any for it, and installs its packages; returns the folder.
 * In a folder `keep`, where a run before has installed them, only the client is installed again.
 */
export async function install(example, sdk, client, keep) {
  const project = keep ? join(keep, `${example.name}-${sdk}`) : makeFolder(`${example.name}-${sdk}`);
  const from = join(folder, example.files);
  cpSync(from, project, { recursive: true, filter: (path) => path === from || !LEFT_OUT.has(basename(path)) });
  if (existsSync(join(from, sdk))) cpSync(join(from, sdk), project, { recursive: true });
  if (!existsSync(join(project, 'node_modules'))) await command('npm', ['ci', ...NPM], { cwd: project, seconds: 300, env: npmEnv() });
  await command('npm', ['install', '--no-save', ...NPM, client.tarball], { cwd: project, seconds: 120, env: npmEnv() });
  return project;
}

/** Runs a command to its end; throws its last lines if it fails or takes too long. */
export async function command(name, args, { cwd, seconds, env = {} }) {
  const { code, stdout, tail } = await run(name, args, { cwd, env: { ...toolsEnv(), ...env }, timeout: seconds * 1000, group: true });
  if (code === 0) return { stdout, tail };
  const how = code === 'SIGKILL' ? `did not end within ${seconds} s` : `ended with ${code}`;
  throw new Error(`${[name, ...args].join(' ')} ${how}:\n${tail}`);
}
