import { type FastPaths, readFastPaths } from './fastPaths.js';
import { WorkflowWorldError } from './sdk/errors.js';

/** Settings of a World. Missing ones are read from the environment. */
export interface WorldOptions {
  /** Address of the service. `WORKFLOW_WORLD_URL`, otherwise `http://127.0.0.1:8787`. */
  url?: string;
  /** Bearer token of the service. `WORKFLOW_WORLD_TOKEN`, otherwise none. */
  token?: string;
  /** Key with which the service signs deliveries; separate several with commas. `WORKFLOW_WORLD_SIGNING_KEY`, otherwise derived from the token. */
  signingKey?: string;
  /** Address at which the service reaches this app. `WORKFLOW_BASE_URL`, otherwise `start()` looks for the port on which the app listens. */
  baseUrl?: string;
  /** Name of this deployment. `WORKFLOW_DEPLOYMENT_ID`, otherwise `dpl_world-redis`. */
  deploymentId?: string;
  /** How long a call is retried while the service cannot be reached, in milliseconds; 10,000. */
  retryForMs?: number;
  /** How long a write to a stream, or its close, is retried, in milliseconds. `WORKFLOW_WORLD_STREAM_RETRY_SECONDS`, otherwise 60 seconds. */
  streamRetryForMs?: number;
  /** How long one try waits for an answer, in milliseconds; 60,000. Live stream reads have no limit. */
  timeoutMs?: number;
}

/** The settings for one call. */
export interface Config {
  url: string;
  token: string | undefined;
  /** All tokens; {@link token} is the first. */
  tokens: string[];
  /** The keys of the settings. If there are none, the keys are derived from the tokens. */
  signingKeys: string[];
  /** The app's address if the settings have one; if undefined, only `start()` looks for it. */
  baseUrl: string | undefined;
  deploymentId: string;
  /** Whether the settings name the deployment, so that it is not the default. */
  deploymentNamed: boolean;
  /** Namespace of this app's queue names, if it has one. */
  namespace: string | undefined;
  retryForMs: number;
  streamRetryForMs: number;
  timeoutMs: number;
  fastPaths: FastPaths;
}

const DEFAULT_URL = 'http://127.0.0.1:8787';
const DEFAULT_DEPLOYMENT_ID = 'dpl_world-redis';
/** Longer than a restart of the service or of its Redis, which usually takes 5 s. */
const DEFAULT_RETRY_FOR_MS = 10_000;
const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_STREAM_RETRY_SECONDS = 60;
/** The service recognises a repeat for 10 minutes. The last try may begin at the end of this time, and then waits for its answer. */
const LONGEST_STREAM_RETRY_SECONDS = 540;

/**
 * Reads the settings. It is called at use, never at import or in `createWorld`: the SDK creates Worlds while an app
 * is being built, when the environment of the running app does not exist yet.
 *
 * @internal Exported for tests.
 */
export function readConfig(options: WorldOptions): Config {
  const env = process.env;
  const deploymentId = options.deploymentId || env['WORKFLOW_DEPLOYMENT_ID'];
  const tokens = list(options.token || env['WORKFLOW_WORLD_TOKEN']);
  return {
    url: options.url || env['WORKFLOW_WORLD_URL'] || DEFAULT_URL,
    // The service accepts a list, for rotation; an app with the same environment sends the first token.
    token: tokens[0],
    tokens,
    signingKeys: list(options.signingKey || env['WORKFLOW_WORLD_SIGNING_KEY']),
    baseUrl: options.baseUrl || env['WORKFLOW_BASE_URL'] || undefined,
    deploymentId: deploymentId || DEFAULT_DEPLOYMENT_ID,
    deploymentNamed: Boolean(deploymentId),
    namespace: env['WORKFLOW_QUEUE_NAMESPACE'] || undefined,
    retryForMs: options.retryForMs ?? DEFAULT_RETRY_FOR_MS,
    streamRetryForMs: streamRetryForMs(options.streamRetryForMs, env['WORKFLOW_WORLD_STREAM_RETRY_SECONDS']),
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    fastPaths: readFastPaths(),
  };
}

function streamRetryForMs(option: number | undefined, variable: string | undefined): number {
  const text = variable?.trim() || undefined;
  const ms = option ?? Number(text ?? DEFAULT_STREAM_RETRY_SECONDS) * 1000;
  if (ms >= 0 && ms <= LONGEST_STREAM_RETRY_SECONDS * 1000) return ms;
  const which = option === undefined ? `WORKFLOW_WORLD_STREAM_RETRY_SECONDS is "${text}"` : `streamRetryForMs is ${option}`;
  const range = option === undefined ? '0 to 540 seconds' : '0 to 540,000 milliseconds';
  throw new WorkflowWorldError(`${which}, which is not a number of ${range}`, { code: 'INVALID_CONFIG' });
}

/** How long settings are cached, in milliseconds: reading them from the environment took 4 % of a call's CPU in the app. */
const CACHED_MS = 100;

/** A cached {@link readConfig}: it reads at the first call, and again once the settings are a tenth of a second old. */
export function configReader(options: WorldOptions): () => Config {
  let config: Config | undefined;
  let until = 0;
  return () => {
    const now = Date.now();
    // The cache must not last longer because the clock was set back.
    if (config === undefined || now >= until || now < until - CACHED_MS) {
      config = readConfig(options);
      until = now + CACHED_MS;
    }
    return config;
  };
}

/** Whether an answer for one of two Worlds is valid for the other. */
export function sameService(a: Config, b: Config): boolean {
  return a.url === b.url && a.token === b.token && a.deploymentId === b.deploymentId;
}

/** The parts of a comma-separated list, without empty ones. */
function list(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
