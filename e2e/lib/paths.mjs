// @ts-check
// Paths in this repository.
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export const serviceBinary = process.env.E2E_BINARY || at('bin/world-redis');
/** The World's name in an app; each app's package.json has it as a dependency. */
export const world = '@world-redis/client';
/** The same package on disk, for parts that a test uses directly. */
export const clientFolder = at('client/');
export const appServer = at('e2e/apps/server.mjs');
/** The same app with no variable that names its port, which is its argument. */
export const appWithoutPort = at('e2e/apps/without-port.mjs');
export const outsiderScript = at('e2e/apps/outsider.mjs');
export const appFolder = (sdk) => at(`e2e/apps/${sdk}`);
/** Of the app's own packages; E2E_NODE is another one, for all apps. */
export const nodeOf = (sdk) => process.env.E2E_NODE || at(`e2e/apps/${sdk}/node_modules/node/bin/node`);
export const workflowCLI = (sdk) => at(`e2e/apps/${sdk}/node_modules/workflow/bin/run.js`);
export const manager = (name) => at(`e2e/managers/node_modules/.bin/${name}`);
/** The binary of a platform, as `make dist` builds it. */
export const distributed = (platform) => at(`dist/binaries/${platform}`);
export const protocol = at('docs/protocol.md');
export const npmPack = at('npm/pack.mjs');
