import { hostOf, type Listener, portOf } from './listener.js';
import { outputOf } from './programs.js';

/** The ports on which processes listen on Windows. Undefined without `netstat`. */
export async function netstatListeners(pids: number[]): Promise<Listener[] | undefined> {
  const output = await outputOf('netstat', ['-ano']);
  return output === undefined ? undefined : parseNetstat(output, pids);
}

/**
 * The listening ports of processes in what `netstat -ano` writes. Its words for states depend on the language of the
 * system; only a listening socket has port 0 as its remote one.
 *
 * @internal Exported for tests.
 */
export function parseNetstat(output: string, pids: number[]): Listener[] {
  return output.split('\n').flatMap((line) => {
    const [protocol, local = '', remote = '', , owner] = line.trim().split(/\s+/);
    const pid = Number(owner);
    if (protocol !== 'TCP' || !remote.endsWith(':0') || !pids.includes(pid)) return [];
    const [, address, text] = /^\[?([^\]%]+)[^\]]*\]?:(\d+)$/.exec(local) ?? [];
    const port = portOf(text);
    return address === undefined || port === undefined ? [] : [{ host: hostOf(address), port, pid }];
  });
}
