/** Where every SDK that knows base paths keeps its own (`setWorkflowBasePath` of `@workflow/utils`). */
const SDK_BASE_PATH = Symbol.for('@workflow/core/basePath');
/** Next.js has the configuration of a standalone output here; `next dev` and `next start` load it, which sets the SDK's. */
const NEXT_CONFIG = '__NEXT_PRIVATE_STANDALONE_CONFIG';
/** The variables that set the base path of a Nuxt or Nitro app when it runs. */
const NITRO_VARIABLES = ['NUXT_APP_BASE_URL', 'NITRO_APP_BASE_URL'];

/**
 * The paths under which the app's routes may lie, likeliest first, without a trailing slash: what the SDK and the
 * frameworks leave in this process, and none.
 */
export function basePaths(): string[] {
  const known = [(globalThis as Record<symbol, unknown>)[SDK_BASE_PATH], nextBasePath(), ...NITRO_VARIABLES.map((name) => process.env[name])];
  return [...new Set([...known.flatMap((value) => asBasePath(value) ?? []), ''])];
}

function nextBasePath(): unknown {
  try {
    return (JSON.parse(process.env[NEXT_CONFIG] ?? '{}') as { basePath?: unknown } | null)?.basePath;
  } catch {
    return undefined;
  }
}

/** A value as the path of a URL; undefined if it is none, or the root. */
export function asBasePath(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^\/[^/?#\\]/.test(value)) return undefined;
  const path = new URL(value, 'http://localhost').pathname.replace(/\/+$/, '');
  return path === '' ? undefined : path;
}
