/** Cache of the keys, which are needed several times per call. */
const keys = new Map<string, symbol>();

/**
 * State that all copies of this client in one process share: an app may have several bundles (v4 builds the flow and
 * the step route separately), each with its own copy.
 */
export function processWide<T>(name: string, make: () => T): T {
  let key = keys.get(name);
  if (key === undefined) {
    key = Symbol.for(`@world-redis/client//${name}`);
    keys.set(name, key);
  }
  const shared = globalThis as unknown as Record<symbol, T | undefined>;
  return (shared[key] ??= make());
}
