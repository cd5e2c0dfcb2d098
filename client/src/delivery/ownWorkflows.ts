import { readFileSync } from 'node:fs';
import { processWide } from './processWide.js';

/** Where the SDK's builds leave the manifest, below the working directory: plain, Next, SvelteKit, Astro, Nitro 2 and 3, Nuxt, Nest. */
const FOLDERS = [
  ...['', 'app/', 'src/app/', 'src/routes/', 'src/pages/'].map((routes) => `${routes}.well-known/workflow/v1`),
  ...['.nitro', 'node_modules/.nitro', '.nuxt', '.nestjs'].map((build) => `${build}/workflow`),
];
/** The service takes no longer lists; an app with more workflows names none. */
const MOST_NAMES = 200;
const MOST_BYTES = 8_192;
/** How long the names are used before the manifests are read again: a development server writes them anew. */
const FRESH_MS = 5_000;

interface Known {
  names: string[] | undefined;
  readAt: number;
}

/**
 * The names of this app's workflows, sorted, as its queue names contain them; undefined if no manifest is found, as in
 * a build that was moved, or if there are too many.
 */
export function ownWorkflows(now: number = Date.now()): string[] | undefined {
  const known = processWide<Known>('workflows', () => ({ names: undefined, readAt: Number.NEGATIVE_INFINITY }));
  if (Math.abs(now - known.readAt) >= FRESH_MS) {
    known.names = namesBelow(process.cwd());
    known.readAt = now;
  }
  return known.names;
}

/** @internal Exported for tests. */
export function namesBelow(root: string): string[] | undefined {
  const names = new Set<string>();
  for (const folder of FOLDERS) {
    for (const name of namesIn(`${root}/${folder}/manifest.json`)) names.add(name);
  }
  const sorted = [...names].sort();
  const fits = sorted.length > 0 && sorted.length <= MOST_NAMES && Buffer.byteLength(sorted.join('\n')) <= MOST_BYTES;
  return fits ? sorted : undefined;
}

/** The workflows of one manifest: `{workflows: {<file>: {<function>: {workflowId}}}}`. */
function namesIn(path: string): string[] {
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return []; // there is none, or it is being written
  }
  const files = (manifest as { workflows?: Record<string, Record<string, { workflowId?: unknown }>> } | null)?.workflows ?? {};
  return Object.values(files)
    .flatMap((functions) => Object.values(functions ?? {}).map((one) => one?.workflowId))
    .filter((name): name is string => typeof name === 'string' && name !== '' && !name.includes('\n'));
}
