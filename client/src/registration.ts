import { callOnce, pauseBefore } from './call.js';
import { appBaseUrl, type Config } from './config.js';
import { encode } from './encoding.js';
import { WorkflowWorldError } from './errors.js';
import { detectSdk, type Sdk } from './sdk.js';

/** An app as the service knows it: where to deliver the messages of a deployment. */
export interface App {
  baseUrl: string;
  deploymentId: string;
  sdk: Sdk;
}

/** How often an app says that it is there, so that a service that lost its memory learns of it again. */
const REFRESH_MS = 30_000;
/** How long `start()` waits for the service before it lets the app go on booting. */
const START_WAIT_MS = 2_000;

interface Registration {
  app: App;
  timer: NodeJS.Timeout | undefined;
  /** Set when a newer start() or close() took over: what is still under way then changes nothing. */
  ended: boolean;
}

// By service, not by World: the SDK creates two Worlds in every process.
const registrations = new Map<string, Registration>();

/**
 * Registers this process as the place to deliver to, and keeps it registered until {@link stopRegistering}. Resolves
 * when the service has accepted, or after two seconds; the rest then goes on in the background, where it does not
 * keep the process alive.
 */
export async function startRegistering(readConfig: () => Config): Promise<void> {
  const config = readConfig();
  const app = appOf(config, appBaseUrl(config));
  stopRegistering(config.url);
  const registration: Registration = { app, timer: undefined, ended: false };
  registrations.set(config.url, registration);
  await new Promise<void>((resolve) => {
    const giveUpWaiting = setTimeout(resolve, START_WAIT_MS);
    keepRegistered(readConfig, registration, () => {
      clearTimeout(giveUpWaiting);
      resolve();
    });
  });
}

/** Ends what {@link startRegistering} began. The service forgets the app when its lease runs out. */
export function stopRegistering(url: string): void {
  const registration = registrations.get(url);
  if (!registration) return;
  registration.ended = true;
  clearTimeout(registration.timer);
  registrations.delete(url);
}

/**
 * The app to name in a queue() call: the one at the base URL that somebody set, else the one that start() registered.
 * Undefined for a process that only enqueues; it never becomes a target.
 */
export function appForQueue(config: Config): App | undefined {
  if (config.baseUrl !== undefined) return appOf(config, config.baseUrl);
  return registrations.get(config.url)?.app;
}

function keepRegistered(readConfig: () => Config, registration: Registration, onSuccess: () => void): void {
  let failures = 0;
  const attempt = async (): Promise<void> => {
    let wait = REFRESH_MS;
    try {
      await callOnce(readConfig(), { method: 'POST', path: '/v1/apps', body: encode(registration.app) });
      failures = 0;
      onSuccess();
    } catch (error) {
      // Told once an outage. On stderr: the SDK's command line promises pure JSON on stdout.
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
    throw new WorkflowWorldError(
      `WORKFLOW_BASE_URL is "${baseUrl}", which is not an http or https URL such as http://localhost:3000`,
      { code: 'INVALID_CONFIG' },
    );
  }
  return { baseUrl: baseUrl.replace(/\/+$/, ''), deploymentId: config.deploymentId, sdk: detectSdk() };
}

/** Whether the service answered and said no: asking again soon would change nothing. */
function isRefusal(error: unknown): boolean {
  const status = (error as { status?: unknown } | null)?.status;
  return typeof status === 'number' && status >= 400 && status < 500;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
