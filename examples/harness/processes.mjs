// @ts-check
// The processes that work in a folder, where the system shows them (/proc).
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Those that still run in one of the folders: a framework may start some outside of its process group. */
export function leftRunning(folders) {
  if (!existsSync('/proc/self/cwd')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const cwd = readlinkSync(`/proc/${name}/cwd`);
        if (!folders.some((folder) => cwd === folder || cwd.startsWith(`${folder}/`))) return [];
        return [{ pid: Number(name), name: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() }];
      } catch {
        return []; // it has ended meanwhile
      }
    });
}
