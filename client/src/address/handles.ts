import type { AddressInfo } from 'node:net';
import { hostOf, type Listener } from './listener.js';

interface Handle {
  listening?: unknown;
  address?: () => AddressInfo | string | null;
}

/** The ports on which servers of this thread listen, as Node itself knows them; none in runtimes that do not tell. */
export function threadListeners(): Listener[] {
  // Not documented, but present in every Node, and the only way without a program of the system.
  const handles = (process as { _getActiveHandles?: () => Handle[] })._getActiveHandles?.() ?? [];
  return handles.flatMap((handle) => {
    if (handle.listening !== true) return [];
    const address = handle.address?.();
    if (typeof address !== 'object' || address === null) return []; // a Unix socket
    return [{ host: hostOf(address.address), port: address.port, pid: process.pid }];
  });
}
