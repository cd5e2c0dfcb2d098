import { readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { mayReadProc } from './deno.js';
import { proc } from './proc.js';
import { outputOf } from './programs.js';

/** How far up: a development server starts its workers directly or by way of a shell and a package manager. */
const MOST_ANCESTORS = 8;
/** Programs that run JavaScript; other ancestors are shells, terminals and supervisors. */
const RUNTIME = /^(node|nodejs|bun|deno|electron)(\.exe)?$/i;

/**
 * The processes above this one that run JavaScript, nearest first: a development server such as Nuxt's listens in a
 * parent of the process that runs the app, and so does the primary of a cluster.
 */
export async function ancestors(): Promise<number[]> {
  switch (process.platform) {
    case 'linux':
      return mayReadProc() ? linuxAncestors() : [];
    case 'win32':
      return [process.ppid];
    default:
      return parsePs((await outputOf('ps', ['-axo', 'pid=,ppid=,comm='])) ?? '', process.ppid);
  }
}

async function linuxAncestors(): Promise<number[]> {
  const found: number[] = [];
  let pid = process.ppid;
  for (let i = 0; i < MOST_ANCESTORS && pid > 0; i++) {
    try {
      const status = await readFile(proc(pid, 'status'), 'utf8');
      if (isRuntime(await readlink(proc(pid, 'exe')).catch(() => ''))) found.push(pid);
      pid = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    } catch {
      break; // it has ended
    }
  }
  return found;
}

/**
 * The same from what `ps -axo pid=,ppid=,comm=` writes.
 *
 * @internal Exported for tests.
 */
export function parsePs(output: string, parent: number): number[] {
  const processes = new Map(
    output.split('\n').flatMap((line): [number, { parent: number; program: string }][] => {
      const [, pid, ppid, program] = /^\s*(\d+)\s+(\d+)\s+(.*?)\s*$/.exec(line) ?? [];
      return pid === undefined ? [] : [[Number(pid), { parent: Number(ppid), program: program ?? '' }]];
    }),
  );
  const found: number[] = [];
  for (let pid = parent, i = 0; i < MOST_ANCESTORS; i++) {
    const process = processes.get(pid);
    if (!process) break;
    if (isRuntime(process.program)) found.push(pid);
    pid = process.parent;
  }
  return found;
}

/** Whether an executable runs JavaScript: by its name, or because it is this process's own. */
const isRuntime = (path: string) => RUNTIME.test(basename(path)) || (path !== '' && path === process.execPath);
