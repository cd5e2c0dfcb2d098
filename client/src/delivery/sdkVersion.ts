import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastPath, FastPaths } from '../fastPaths.js';
import { detectSdk } from '../sdk/sdk.js';
import { GUESSING, TESTED } from '../sdk/testedSdks.js';
import { type Fields, isFields } from '../wire/timestamps.js';
import { processWide } from './processWide.js';

/**
 * The version of the SDK in this process, for the fast paths that are used only with tested versions. The SDK writes
 * its version into the run_created of each run that it starts here. Before the first one, the package.json of
 * `@workflow/core` has it, if the app or its main script can resolve that file. A bundler such as Next's may have
 * left it out; then the version is unknown until a run is started here, and unknown counts as not tested.
 *
 * The version of a delivery's run is not used: another process may have started that run with another SDK.
 */
interface State {
  /** The version that the SDK in this process has reported. */
  own?: string;
  /** The versions in the packages; read once. */
  installed?: string[];
  /** The log line was written. */
  logged?: boolean;
}

const state = () => processWide<State>('sdkVersion', () => ({}));

/** Reads the SDK's version from the event with which it starts a run. */
export function noteStart({ eventType, eventData }: Fields): void {
  if (eventType !== 'run_created' || !isFields(eventData)) return;
  const context = eventData['executionContext'];
  const version = isFields(context) ? context['workflowCoreVersion'] : undefined;
  if (typeof version === 'string') state().own = version;
}

/** The enabled fast paths, without those that were not tested with the SDK in this process. */
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

/** The versions that the SDK in this process may have; none if unknown. */
function sdkVersions(): string[] {
  const { own } = state();
  if (own !== undefined) return [own];
  const generation = detectSdk().slice(1);
  const versions = (state().installed ??= installedVersions(process.argv[1]));
  // A package of another generation is not the loaded one.
  return versions.every((version) => version.startsWith(`${generation}.`)) ? versions : [];
}

/**
 * Versions of `@workflow/core` as the app's folder and the main script resolve it; usually the same one.
 *
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
  // With pnpm, the core is next to the real folder of the package that depends on it.
  const core = packageFolder('@workflow/core', packageFolder('workflow', folder) ?? folder);
  if (core === undefined) return undefined;
  const { version } = JSON.parse(readFileSync(join(core, 'package.json'), 'utf8')) as { version?: unknown };
  return typeof version === 'string' ? version : undefined;
}

/** Without require.resolve: the packages do not export their package.json. */
function packageFolder(name: string, from: string): string | undefined {
  for (const folder of createRequire(join(from, 'package.json')).resolve.paths(name) ?? []) {
    try {
      return dirname(realpathSync(join(folder, name, 'package.json')));
    } catch {
      // Not in this folder.
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
