// @ts-check
// The processes that work in a folder, where the system shows them (/proc).
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * Those that still run in one of the folders: a framework may start some outside of its process group.
 *
 * @returns {{ pid: number, parent: number, name: string }[]}
 */
export function leftRunning(folders) {
  if (!existsSync('/proc/self/cwd')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const cwd = readlinkSync(`/proc/${name}/cwd`);
        if (!folders.some((folder) => cwd === folder || cwd.startsWith(`${folder}/`))) return [];
        const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]);
        return [{ pid: Number(name), parent, name: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() }];
      } catch {
        return []; // it has ended meanwhile
      }
    });
}

/** Those of them that are not known to stay: of a program whose command line has the given text, and what it has started. */
export function unexpected(left, known) {
  const isKnown = (one) => known !== undefined && one?.name.includes(known);
  return left.filter((one) => !isKnown(one) && !isKnown(left.find(({ pid }) => pid === one.parent)));
}
