/** The built client, loaded as the SDK loads it, and the parts that some tests look at one by one. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const clientFolder = join(__dirname, '..', '..');
const load = createRequire(join(clientFolder, 'package.json'));

export const clientEntry = join(clientFolder, 'dist', 'index.js');

export function part<T>(name: string): T {
  return load(`./dist/${name}.js`) as T;
}

/** The first event of a run, with the version that an SDK gives it; the client then takes this process's SDK for that version. */
export const startBy = (workflowCoreVersion: string) => ({
  eventType: 'run_created',
  eventData: { deploymentId: 'd', workflowName: 'w', input: new Uint8Array(), executionContext: { workflowCoreVersion } },
});
// A test is the SDK of its process, and there is no package that says which.
part<typeof import('../../dist/delivery/sdkVersion.js')>('delivery/sdkVersion').noteStart(startBy('4.8.9'));

export const { createWorld } = load(clientFolder) as typeof import('../../dist/index.js');

/** The calls of SDKs from before event sourcing, in a process that has the modules of later ones, too. */
export function legacyCalls(url: string): ReturnType<typeof import('../../dist/world/legacy.js')['createLegacyCalls']> {
  const { configReader } = part<typeof import('../../dist/config.js')>('config');
  const { createLegacyCalls } = part<typeof import('../../dist/world/legacy.js')>('world/legacy');
  return createLegacyCalls(configReader({ url }));
}
