interface Permissions {
  querySync(permission: { name: string; path?: string; command?: string }): { state: string };
}

/** The permissions of a process under Deno, which would ask its user for each that is missing; undefined elsewhere. */
const permissions = (): Permissions | undefined => (globalThis as { Deno?: { permissions?: Permissions } }).Deno?.permissions;

const isGranted = (permission: Parameters<Permissions['querySync']>[0]) => {
  const asked = permissions();
  return asked === undefined || asked.querySync(permission).state === 'granted';
};

/** Whether this process may read how the system sees processes; under Deno, this needs all permissions. */
export const mayReadProc = (): boolean => ['read', 'write', 'net', 'env', 'run', 'ffi'].every((name) => isGranted({ name }));

/** Whether this process may start a program. */
export const mayRun = (program: string): boolean => isGranted({ name: 'run', command: program });

export const isDeno = (): boolean => permissions() !== undefined;
