// @ts-check
// Temporary folders, removed at the end of the process at the latest.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made = new Set();

export function makeFolder(purpose) {
  const folder = mkdtempSync(join(tmpdir(), `world-redis-example-${purpose}-`));
  made.add(folder);
  return folder;
}

export function removeFolders(folders = [...made]) {
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    made.delete(folder);
  }
}
