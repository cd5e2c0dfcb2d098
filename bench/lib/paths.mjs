// @ts-check
// Paths of the bench's parts.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../../', import.meta.url));
export const loadBinary = join(repository, 'bin/bench-load');
export const outFolder = join(repository, 'bench/out');
export const appServer = join(repository, 'bench/apps/server.mjs');
export const appFolder = (app) => join(repository, 'bench/apps', app);
export const nodeOf = (app) => join(appFolder(app), 'node_modules/node/bin/node');
export const worker = (name) => join(repository, 'bench/workers', `${name}.mjs`);

/** Throws when a package is not installed in an app's folder; the message goes into the table. */
export function checkInstalled(app, name) {
  if (!existsSync(join(appFolder(app), 'node_modules', name, 'package.json'))) throw new Error(`${name} is not installed`);
}
