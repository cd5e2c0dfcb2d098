import { hostOf, type Listener, portOf } from './listener.js';
import { outputOf } from './programs.js';

/** The ports on which processes listen on macOS and the BSDs. Undefined without `lsof`. */
export async function lsofListeners(pids: number[]): Promise<Listener[] | undefined> {
  const output = await outputOf('lsof', ['-nP', '-a', '-iTCP', '-sTCP:LISTEN', '-p', pids.join(','), '-Fpn']);
  return output === undefined ? undefined : parseLsof(output);
}

/**
 * What `lsof -Fpn` writes: a line with a letter and a value for each field, `p` for a process and `n` for an address.
 *
 * @internal Exported for tests.
 */
export function parseLsof(output: string): Listener[] {
  const listeners: Listener[] = [];
  let pid = 0;
  for (const line of output.split('\n')) {
    if (line.startsWith('p')) pid = Number(line.slice(1));
    const [, address, text] = /^n\[?([^\]]+?)\]?:(\d+)$/.exec(line) ?? [];
    const port = portOf(text);
    if (address !== undefined && port !== undefined) listeners.push({ host: hostOf(address), port, pid });
  }
  return listeners;
}
