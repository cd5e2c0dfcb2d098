import { appBaseUrl, type Config } from '../config.js';
import { WorkflowWorldError } from '../sdk/errors.js';
import { parseQueueName } from '../sdk/queueName.js';
import { detectSdk, type Sdk } from '../sdk/sdk.js';
import { callOnce, pauseBefore } from '../transport/call.js';
import { loadSockets } from '../transport/callSocket.js';
import { connectionTo } from '../transport/connection.js';
import { encode } from '../wire/encoding.js';
import { identity } from './identity.js';
import { preloadable } from './preload.js';

/** An app in the service's registry: where to deliver the messages of a deployment. */
export interface App {
  baseUrl: string;
  deploymentId: string;
  sdk: Sdk;
  /** Namespace of the queue names that it serves; absent if none. */
  namespace?: string;
  /** What the service may preload for its deliveries; absent means nothing. */
  attach?: string[];
  /** How long it counts as alive without another registration; absent means a long time. */
  leaseSeconds?: number;
}

/** How often an app registers again, so that its lease continues and a service that lost its data gets to know it again. */
const REFRESH_MS = 30_000;
/** The lease of an app registered by `start()`: it may miss two refreshes. */
const LEASE_SECONDS = 90;
/** How long `close()` waits for the service to unregister the app. */
const GOODBYE_MS = 1_000;
/** How long `start()` waits for the service before the app continues to boot. */
const START_WAIT_MS = 2_000;

interface Registration {
  app: App;
  timer: NodeJS.Timeout | undefined;
  /** Set when a newer start() or close() took over: calls in progress then change nothing. */
  ended: boolean;
}

// Per service, not per World: the SDK creates two Worlds in every process.
const registrations = new Map<string, Registration>();

/**
 * Registers this process as the place to deliver to, and keeps it registered until {@link stopRegistering}. It
 * resolves once the service has accepted, or after two seconds; registration then continues in the background,
 * without keeping the process alive.
 */
export async function startRegistering(readConfig: () => Config): Promise<void> {
  const config = readConfig();
  const app = { ...appOf(config, appBaseUrl(config)), ...lease() };
  stopRegistering(config.url);
  const registration: Registration = { app, timer: undefined, ended: false };
  registrations.set(config.url, registration);
  await new Promise<void>((resolve) => {
    const giveUpWaiting = setTimeout(resolve, START_WAIT_MS);
    keepRegistered(readConfig, registration, () => {
      clearTimeout(giveUpWaiting);
      if (connectionTo(config.url).sockets) loadSockets();
      resolve();
    });
  });
}

/** Ends a {@link startRegistering} of this process, and returns the app that was registered. */
function stopRegistering(url: string): App | undefined {
  const registration = registrations.get(url);
  if (!registration) return undefined;
  registration.ended = true;
  clearTimeout(registration.timer);
  registrations.delete(url);
  return registration.app;
}

/**
 * Stops registering and unregisters the app. Otherwise the service would deliver here until the lease expires, which
 * also happens if the service does not answer within a second.
 */
export async function unregister(config: Config): Promise<void> {
  const app = stopRegistering(config.url);
  if (!app) return;
  const signal = AbortSignal.timeout(GOODBYE_MS);
  await callOnce(config, { method: 'POST', path: '/v1/apps/unregister', body: encode(app), signal }).catch(() => undefined);
}

/**
 * The app for a queue() call: the one at the base URL of the settings, otherwise the one that start() registered.
 * Undefined for a process that only enqueues; it never becomes a target.
 */
export function appForQueue(config: Config): App | undefined {
  const started = registrations.get(config.url)?.app;
  if (config.baseUrl === undefined) return started;
  const app = appOf(config, config.baseUrl);
  // An app that start() keeps registered has its lease here, too. Any other app, such as a function that is frozen
  // between two requests, could not renew one.
  return started?.baseUrl === app.baseUrl && started.deploymentId === app.deploymentId ? started : app;
}

/**
 * The lease to request. If processes are frozen while there are no requests, timers do not run:
 * `WORKFLOW_WORLD_APP_LEASE_SECONDS=0` then requests a long lease.
 */
function lease(): { leaseSeconds?: number } {
  const setting = process.env['WORKFLOW_WORLD_APP_LEASE_SECONDS'];
  const seconds = setting === undefined || setting === '' ? LEASE_SECONDS : Number(setting);
  if (!Number.isInteger(seconds) || seconds < 0) {
    throw new WorkflowWorldError(`WORKFLOW_WORLD_APP_LEASE_SECONDS is "${setting}", which is not a whole number of seconds`, { code: 'INVALID_CONFIG' });
  }
  return seconds === 0 ? {} : { leaseSeconds: seconds };
}

/** Namespaces of the workflow handlers that this process has created; `undefined` means none. */
const handled = new Set<string | undefined>();

/** Is called when the app creates a handler for a prefix. Its namespace may be an option of the SDK, which is visible there. */
export function noteHandler(prefix: string): void {
  const name = parseQueueName(prefix);
  if (name?.kind === 'workflow') handled.add(name.namespace);
}

function servedNamespace(config: Config): { namespace?: string } {
  const namespace = handled.size === 1 ? [...handled][0] : config.namespace;
  return namespace === undefined ? {} : { namespace };
}

function keepRegistered(readConfig: () => Config, registration: Registration, onSuccess: () => void): void {
  let failures = 0;
  const attempt = async (): Promise<void> => {
    let wait = REFRESH_MS;
    try {
      const config = readConfig();
      // Frameworks load the handlers when their routes are first called, perhaps long after start().
      registration.app = { ...registration.app, ...servedNamespace(config) };
      await callOnce(config, { method: 'POST', path: '/v1/apps', body: encode({ ...registration.app, ...identity() }) });
      failures = 0;
      onSuccess();
    } catch (error) {
      // Logged once per outage, on stderr: the SDK's command line promises pure JSON on stdout.
      if (failures === 0 && !registration.ended) {
        process.stderr.write(`[world-redis] ${registration.app.baseUrl} could not be registered: ${messageOf(error)}\n`);
      }
      if (!isRefusal(error)) wait = pauseBefore(failures);
      failures++;
    }
    if (registration.ended) return;
    registration.timer = setTimeout(() => void attempt(), wait);
    registration.timer.unref();
  };
  void attempt();
}

function appOf(config: Config, baseUrl: string): App {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new WorkflowWorldError(`WORKFLOW_BASE_URL is "${baseUrl}", which is not an http or https URL such as http://localhost:3000`, { code: 'INVALID_CONFIG' });
  }
  const app: App = { baseUrl: baseUrl.replace(/\/+$/, ''), deploymentId: config.deploymentId, sdk: detectSdk() };
  const attach = preloadable(config);
  return { ...app, ...servedNamespace(config), ...(attach.length > 0 && { attach }) };
}

/** Whether the service answered with a refusal, so that a retry would change nothing soon. */
function isRefusal(error: unknown): boolean {
  const status = (error as { status?: unknown } | null)?.status;
  return typeof status === 'number' && status >= 400 && status < 500;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
