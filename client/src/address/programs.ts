import { execFile } from 'node:child_process';
import type { Socket } from 'node:net';
import { mayRun } from './deno.js';

/** How long a program of the system may take. */
const TIMEOUT_MS = 5_000;

/** What a program of the system writes. Undefined if it is missing or takes too long. */
export async function outputOf(program: string, args: string[]): Promise<string | undefined> {
  if (!mayRun(program)) return undefined;
  return new Promise((resolve) => {
    const child = execFile(program, args, { timeout: TIMEOUT_MS, windowsHide: true, maxBuffer: 4 * 1024 * 1024 }, (error, stdout) => {
      // lsof ends with 1 if it finds nothing for one of the processes.
      resolve(error && typeof error.code !== 'number' ? undefined : stdout);
    });
    child.unref();
    (child.stdout as Socket | null)?.unref();
    (child.stderr as Socket | null)?.unref();
  });
}
