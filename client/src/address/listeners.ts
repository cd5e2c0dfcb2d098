import { threadListeners } from './handles.js';
import type { Listener } from './listener.js';
import { lsofListeners } from './lsof.js';
import { netstatListeners } from './netstat.js';
import { procListeners } from './proc.js';

/**
 * The ports on which processes listen, in the order of the ids and, on Linux, of their file descriptors. Undefined
 * if the system or this process's permissions do not allow to find out.
 */
export async function listenersOf(pids: number[]): Promise<Listener[] | undefined> {
  switch (process.platform) {
    case 'linux':
      return procListeners(pids);
    case 'win32':
      return withThread(await netstatListeners(pids));
    default:
      return withThread(await lsofListeners(pids));
  }
}

/** Adds what Node knows of this thread: it is known also where the programs of the system are missing. */
function withThread(found: Listener[] | undefined): Listener[] | undefined {
  const own = threadListeners();
  if (found === undefined) return own.length > 0 ? own : undefined;
  return [...found, ...own.filter(({ port }) => !found.some((other) => other.port === port))];
}
