/** The client as npm publishes it, loaded as the SDK loads it, and the modules that some tests look at one by one. They share what is process-wide. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

const clientFolder = join(__dirname, '..', '..');
const load = createRequire(join(clientFolder, 'package.json'));

export const clientEntry = join(clientFolder, 'dist', 'index.js');
export const modulesFolder = join(clientFolder, 'build');

export function part<T>(name: string): T {
  return load(`./build/${name}.js`) as T;
}

/** The first event of a run, with the version that an SDK gives it; the client then takes this process's SDK for that version. */
export const startBy = (workflowCoreVersion: string) => ({
  eventType: 'run_created',
  eventData: { deploymentId: 'd', workflowName: 'w', input: new Uint8Array(), executionContext: { workflowCoreVersion } },
});
// A test is the SDK of its process, and there is no package that says which.
part<typeof import('../../build/delivery/sdkVersion.js')>('delivery/sdkVersion').noteStart(startBy('4.8.9'));

export const { createWorld } = load(clientFolder) as typeof import('../../build/index.js');

/** The calls of SDKs from before event sourcing, in a process that has the modules of later ones, too. */
export function legacyCalls(url: string): ReturnType<typeof import('../../build/world/legacy.js')['createLegacyCalls']> {
  const { configReader } = part<typeof import('../../build/config.js')>('config');
  const { createLegacyCalls } = part<typeof import('../../build/world/legacy.js')>('world/legacy');
  return createLegacyCalls(configReader({ url }));
}
