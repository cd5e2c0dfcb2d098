// @ts-check
// The package managers of e2e/managers: how each installs a project, and how it runs a command of a package in it.
import { join } from 'node:path';
import { manager } from './paths.mjs';

/**
 * `files`: what the project needs besides its package.json. `offline`: arguments with which no registry is asked. `hook`:
 * the file by which Node finds packages that are not in node_modules.
 *
 * @typedef {{ install: string[], offline?: string[], run: string[], files?: Record<string, string>, hook?: string }} Manager
 */

/** @returns {Manager} */
function yarn(linker) {
  const settings = ['enableTelemetry: false', 'enableGlobalCache: false', 'enableImmutableInstalls: false', 'unsafeHttpWhitelist: [127.0.0.1]'];
  return {
    install: [process.execPath, manager('yarn'), 'install'],
    run: [process.execPath, manager('yarn'), 'run'],
    files: { 'yarn.lock': '', '.yarnrc.yml': `nodeLinker: ${linker}\n${settings.join('\n')}\n` },
  };
}

/** @type {Record<string, Manager>} */
export const managers = {
  npm: { install: ['npm', 'install', '--no-audit', '--no-fund'], offline: ['--offline'], run: ['npx', '--offline', '--no-install'] },
  'Yarn 4, node_modules': yarn('node-modules'),
  "Yarn 4, Plug'n'Play": { ...yarn('pnp'), hook: '.pnp.cjs' },
  pnpm: {
    install: [process.execPath, manager('pnpm'), 'install'],
    offline: ['--offline'],
    run: [process.execPath, manager('pnpm'), 'exec'],
    files: { 'pnpm-workspace.yaml': 'storeDir: pnpm-store\n' },
  },
  Bun: { install: [manager('bun'), 'install'], run: [manager('bun'), 'x', '--no-install'] },
};

/** The variables by which each uses the given registry, and keeps nothing outside of the folder. */
export function registryEnv(url, folder) {
  return {
    npm_config_registry: url,
    npm_config_cache: join(folder, 'npm-cache'),
    YARN_NPM_REGISTRY_SERVER: url,
    YARN_GLOBAL_FOLDER: join(folder, 'yarn'),
    BUN_CONFIG_REGISTRY: url,
    BUN_INSTALL_CACHE_DIR: join(folder, 'bun-cache'),
  };
}

/** What a manager printed, without a line that is about the folders above the project: Bun names any package.json there. */
export const ownLines = (output) => output.replace(/^warn: ignoring package\.json in .*$/m, '');

/** A warning, a compiler at work, or a message of Yarn other than those of an install without trouble. */
export const trouble = /warn|gyp|YN00(?!00|13|85)/i;
