import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastPath, FastPaths } from '../fastPaths.js';
import { detectSdk } from '../sdk/sdk.js';
import { GUESSING, TESTED } from '../sdk/testedSdks.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import { processWide } from './processWide.js';

/**
 * Which version of the SDK is in this process, for the fast paths that only tested versions may use. Each run that the
 * SDK starts here says it: the SDK writes its own version into run_created. Before that the package.json of
 * `@workflow/core` says it, where the app or its main script can resolve it. A bundler such as Next's may have left
 * that file out; then the version is unknown until a run is started here, and unknown counts as not tested.
 *
 * The version of the run that a delivery is for is not used: another process may have started it with another SDK.
 */
interface State {
  /** What the SDK in this process said itself. */
  own?: string;
  /** What the packages say; read once. */
  installed?: string[];
  /** The line in the log was written. */
  logged?: boolean;
}

const state = () => processWide<State>('sdkVersion', () => ({}));

/** Takes the SDK's version from the event with which it starts a run. */
export function noteStart({ eventType, eventData }: Fields): void {
  if (eventType !== 'run_created' || !isFields(eventData)) return;
  const context = eventData['executionContext'];
  const version = isFields(context) ? context['workflowCoreVersion'] : undefined;
  if (typeof version === 'string') state().own = version;
}

/** The fast paths that are on, without those that the SDK in this process was not tested with. */
export function fastPathsForSdk(on: FastPaths): FastPaths {
  const guessing = GUESSING.filter((path) => on.has(path));
  if (guessing.length === 0) return on;
  const versions = sdkVersions();
  if (versions.length > 0 && versions.every(isTested)) return on;
  logOnce(versions, guessing);
  const rest = new Set<FastPath>(on);
  for (const path of guessing) rest.delete(path);
  return rest;
}

/**
 * Whether the guessing fast paths were tested with a version.
 * @internal Exported for tests.
 */
export function isTested(version: string): boolean {
  return TESTED.some(({ pattern }) => pattern.test(version));
}

/** The versions that the SDK in this process may have; none: unknown. */
function sdkVersions(): string[] {
  const { own } = state();
  if (own !== undefined) return [own];
  const generation = detectSdk().slice(1);
  const versions = (state().installed ??= installedVersions(process.argv[1]));
  // A package of another generation is not the one that is loaded.
  return versions.every((version) => version.startsWith(`${generation}.`)) ? versions : [];
}

/**
 * Versions of `@workflow/core` as the app's folder and the main script resolve it, which are one version mostly.
 * @internal Exported for tests.
 */
export function installedVersions(script: string | undefined): string[] {
  try {
    const folders = [process.cwd(), ...(script === undefined ? [] : [dirname(script)])];
    return [...new Set(folders.flatMap((folder) => coreVersionFrom(folder) ?? []))];
  } catch {
    return []; // such as a working directory that is gone
  }
}

function coreVersionFrom(folder: string): string | undefined {
  // With pnpm the core is beside the real folder of the package that depends on it.
  const core = packageFolder('@workflow/core', packageFolder('workflow', folder) ?? folder);
  if (core === undefined) return undefined;
  const { version } = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8')) as { version?: unknown };
  return typeof version === 'string' ? version : undefined;
}

/** Not by require.resolve: the packages do not export their package.json. */
function packageFolder(name: string, from: string): string | undefined {
  for (const folder of createRequire(join(from, 'package.json')).resolve.paths(name) ?? []) {
    try {
      return dirname(realpathSync(join(folder, name, 'package.json')));
    } catch {
      // Not in this one.
    }
  }
  return undefined;
}

/** On stderr: the SDK's command line promises pure JSON on stdout. */
function logOnce(versions: string[], off: readonly string[]): void {
  const shared = state();
  if (shared.logged) return;
  shared.logged = true;
  const which =
    versions.length > 0
      ? `Workflow SDK ${versions.join(' or ')} is not among the tested versions (${TESTED.map(({ shown }) => shown).join(', ')})`
      : 'the version of the Workflow SDK is unknown until this process starts a run, for node_modules/@workflow/core/package.json is not here';
  process.stderr.write(`[world-redis] ${which}, so these fast paths are off: ${off.join(', ')} (docs/fast-paths.md).\n`);
}
