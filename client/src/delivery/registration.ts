import { AddressSearch } from '../address/search.js';
import { WarningPrinter, warningsIn } from '../address/serviceWarnings.js';
import type { Config } from '../config.js';
import { WorkflowWorldError } from '../sdk/errors.js';
import { parseQueueName } from '../sdk/queueName.js';
import { detectSdk, type Sdk } from '../sdk/sdk.js';
import { callOnce, pauseBefore } from '../transport/call.js';
import { loadSockets } from '../transport/callSocket.js';
import { connectionTo } from '../transport/connection.js';
import { encode } from '../wire/encoding.js';
import { identity } from './identity.js';
import { noteDeployment } from './ownDeployments.js';
import { preloadable } from './preload.js';
import { processId } from './thisProcess.js';

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
/** The first time it does so earlier: the service has then tried the address, and its answer says what is wrong. */
const FIRST_REFRESH_MS = 5_000;
/** The lease of an app registered by `start()`: it may miss two refreshes. */
const LEASE_SECONDS = 90;
/** How long `close()` waits for the service to unregister the app. */
const GOODBYE_MS = 1_000;
/** How long `start()` waits for the service before the app continues to boot. */
const START_WAIT_MS = 2_000;
/** How long of this it waits for the app's own answer: in many frameworks the app answers only after start(). */
const SEARCH_WAIT_MS = 300;

interface Registration {
  app: App;
  timer: NodeJS.Timeout | undefined;
  /** Set when a newer start() or close() took over: calls in progress then change nothing. */
  ended: boolean;
}

/** What start() has begun. */
interface Started {
  /** Undefined while the app's address is not known. */
  registration?: Registration;
  /** Present while the app's address is looked for. */
  search?: AddressSearch;
}

// Per service, not per World: the SDK creates two Worlds in every process.
const started = new Map<string, Started>();

/**
 * Registers this process as the place to deliver to, and keeps it registered until {@link stopRegistering}. It
 * resolves once the service has accepted, or after two seconds; registration then continues in the background,
 * without keeping the process alive. If the settings have no address and the app does not listen yet, it resolves at
 * once, because the app may listen only after start(), and registers when the address is known.
 */
export async function startRegistering(readConfig: () => Config): Promise<void> {
  const config = readConfig();
  const leased = lease();
  const appAt = (baseUrl: string): App => ({ ...appOf(config, baseUrl), ...leased });
  const known = config.baseUrl === undefined ? undefined : appAt(config.baseUrl);
  stopRegistering(config.url);
  const state: Started = {};
  started.set(config.url, state);
  await new Promise<void>((resolve) => {
    const giveUpWaiting = setTimeout(resolve, START_WAIT_MS);
    const stopWaiting = () => {
      clearTimeout(giveUpWaiting);
      resolve();
    };
    const onSuccess = () => {
      if (connectionTo(config.url).sockets) loadSockets();
      stopWaiting();
    };
    if (known) register(readConfig, state, known, onSuccess);
    else void registerWhenFound(readConfig, state, appAt, onSuccess).then((any) => (any ? setTimeout(stopWaiting, SEARCH_WAIT_MS) : stopWaiting()));
  });
}

/** Looks for the app's address and registers the app there. Returns whether there is any port at present that may be the app's. */
async function registerWhenFound(readConfig: () => Config, state: Started, appAt: (baseUrl: string) => App, onSuccess: () => void): Promise<boolean> {
  let reported = false;
  const registerAt = (baseUrl: string) => {
    register(readConfig, state, appAt(baseUrl), onSuccess, () => {
      if (!state.search) void registerWhenFound(readConfig, state, appAt, onSuccess);
    });
  };
  state.search = new AddressSearch(processId(), {
    found: (baseUrl) => {
      delete state.search;
      if (reported) process.stderr.write(`[world-redis] this app answers at ${baseUrl}, which is registered now\n`);
      registerAt(baseUrl);
    },
    missing: (what, guess) => {
      // An address that was found before stays registered: the service says what is wrong with it.
      if (state.registration) return;
      reported = true;
      const then = guess === undefined ? 'The app is registered as soon as it answers' : `${guess} is registered until the app answers elsewhere`;
      process.stderr.write(
        `[world-redis] WARNING: ${what}, so the service cannot deliver to it. ${then}. Set WORKFLOW_BASE_URL to the address at which the service reaches the app, with its base path.\n`,
      );
      if (guess !== undefined) registerAt(guess);
    },
  });
  return state.search.start();
}

/** Registers an app and keeps it registered, in place of what was registered before. `onTrouble` is called when the service warns of its address. */
function register(readConfig: () => Config, state: Started, app: App, onSuccess: () => void, onTrouble?: () => void): void {
  let before = state.registration;
  if (before?.app.baseUrl === app.baseUrl) return;
  if (before) end(before);
  const registration: Registration = { app, timer: undefined, ended: false };
  state.registration = registration;
  const warnings = new WarningPrinter();
  keepRegistered(readConfig, registration, (answer) => {
    const current = warningsIn(answer);
    warnings.print(app.baseUrl, current);
    if (before) void sayGoodbye(readConfig(), before.app);
    before = undefined;
    onSuccess();
    if (current.some(({ code }) => MISSED.has(code))) onTrouble?.();
  });
}

/** The service's warnings that the app does not answer at its address. */
const MISSED = new Set(['no_answer', 'other_app']);

function end(registration: Registration): void {
  registration.ended = true;
  clearTimeout(registration.timer);
}

/** Ends a {@link startRegistering} of this process, and returns the app that was registered. */
function stopRegistering(url: string): App | undefined {
  const state = started.get(url);
  if (!state) return undefined;
  started.delete(url);
  state.search?.stop();
  if (state.registration) end(state.registration);
  return state.registration?.app;
}

/**
 * Stops registering and unregisters the app. Otherwise the service would deliver here until the lease expires, which
 * also happens if the service does not answer within a second.
 */
export async function unregister(config: Config): Promise<void> {
  const app = stopRegistering(config.url);
  if (app) await sayGoodbye(config, app);
}

async function sayGoodbye(config: Config, app: App): Promise<void> {
  const signal = AbortSignal.timeout(GOODBYE_MS);
  await callOnce(config, { method: 'POST', path: '/v1/apps/unregister', body: encode(app), signal }).catch(() => undefined);
}

/**
 * The app for a queue() call: the one at the base URL of the settings, otherwise the one that start() registered.
 * Undefined for a process that only enqueues; it never becomes a target.
 */
export function appForQueue(config: Config): App | undefined {
  const registered = started.get(config.url)?.registration?.app;
  if (config.baseUrl === undefined) return registered;
  const app = appOf(config, config.baseUrl);
  // An app that start() keeps registered has its lease here, too. Any other app, such as a function that is frozen
  // between two requests, could not renew one.
  return registered?.baseUrl === app.baseUrl && registered.deploymentId === app.deploymentId ? registered : app;
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

function keepRegistered(readConfig: () => Config, registration: Registration, onAnswer: (answer: unknown) => void): void {
  let failures = 0;
  let refresh = FIRST_REFRESH_MS;
  const attempt = async (): Promise<void> => {
    let wait = refresh;
    try {
      const config = readConfig();
      // Frameworks load the handlers when their routes are first called, perhaps long after start().
      registration.app = { ...registration.app, ...servedNamespace(config) };
      const answer = await callOnce(config, { method: 'POST', path: '/v1/apps', body: encode({ ...registration.app, ...identity() }) });
      failures = 0;
      refresh = REFRESH_MS;
      if (!registration.ended) onAnswer(answer);
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
  noteDeployment(config.deploymentId);
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
