// @ts-check
// The app under test: e2e/apps/server.mjs in the folder of one SDK version, controlled through its small HTTP API.
import { setTimeout as delay } from 'node:timers/promises';
import { appFolder, appServer, nodeOf, world } from './paths.mjs';
import { Child } from './process.mjs';
import { until } from './wait.mjs';

/** @typedef {import('./process.mjs').Environment} Environment */

export class App {
  #child;
  #supervised = false;

  /**
   * `folder`: that of another project with the World, where the app of that SDK runs; otherwise E2E_PROJECT, or the app's own.
   *
   * @param {{ sdk: string, service: { clientEnv: Environment, url?: string }, port: number, deploymentId?: string, env?: Environment, folder?: string }} options
   */
  constructor({ sdk, service, port, deploymentId, env, folder }) {
    this.sdk = sdk;
    this.folder = folder ?? process.env.E2E_PROJECT;
    this.deploymentId = deploymentId;
    this.service = service;
    this.env = env;
    this.url = `http://127.0.0.1:${port}`;
  }

  get tail() {
    return this.#child?.tail;
  }

  async start() {
    this.#spawn();
    await until('the app to be ready', async () => (await fetch(`${this.url}/ready`)).ok, { child: this.#child });
  }

  #spawn() {
    this.#child = new Child('app', nodeOf(this.sdk), [appServer], {
      cwd: this.folder ?? appFolder(this.sdk),
      env: {
        ...(this.folder && { E2E_APP: appFolder(this.sdk) }),
        ...this.service.clientEnv,
        PORT: new URL(this.url).port,
        WORKFLOW_TARGET_WORLD: world,
        WORKFLOW_BASE_URL: this.url,
        ...(this.deploymentId && { WORKFLOW_DEPLOYMENT_ID: this.deploymentId }),
        ...this.env,
      },
    });
  }

  get child() {
    return this.#child;
  }

  stop() {
    this.#supervised = false;
    return this.#child?.end('SIGTERM') ?? 0;
  }

  /** Restarts the app `pause` ms after each end of its process, like a process manager, until it is stopped. `ends` counts the ends. */
  async supervise(pause) {
    this.#supervised = true;
    this.ends = 0;
    for (;;) {
      await this.#child.exited;
      if (!this.#supervised) return;
      this.ends++;
      await delay(pause);
      if (this.#supervised) this.#spawn();
    }
  }

  /** Kills the app without unregistering it, like a power cut. */
  async kill() {
    await this.#child.end('SIGKILL');
  }

  /** Starts a run and returns its id. */
  async begin(workflow, ...args) {
    return (await this.#json(`/start/${encodeURIComponent(workflow)}`, args)).runId;
  }

  /** The same with options of the SDK's start(). */
  async beginWith(options, workflow, ...args) {
    return (await this.#json(`/start/${encodeURIComponent(workflow)}?options=${encodeURIComponent(JSON.stringify(options))}`, args)).runId;
  }

  /** Starts a run on the given deployment. */
  beginOn(deploymentId, workflow, ...args) {
    return this.beginWith({ deploymentId }, workflow, ...args);
  }

  /** Starts a run whose first event does not reach the service: `{runId, calls}`, where calls are the event types that were tried. */
  beginWithoutEvents(workflow, ...args) {
    return this.#json(`/start-without-events/${encodeURIComponent(workflow)}`, args);
  }

  /** Calls an exported step of a workflow file outside of any run. */
  direct(file, step, ...args) {
    return this.#json(`/direct/${file}/${step}`, args);
  }

  /** Waits for the end of a run: `{status, value}` or `{status, error: {name, message, stack, code, cause}}`. */
  outcome(runId, timeout = 60_000) {
    return this.#json(`/outcome/${runId}`, undefined, timeout);
  }

  /** Starts `count` runs, at most `atOnce` of them open at a time. */
  flood(workflow, args, count, atOnce, timeout = 120_000) {
    return this.#json(`/flood/${workflow}`, { args, count, atOnce }, timeout);
  }

  /** The same with the first event of each run up to `late` milliseconds after its message. */
  lateFlood(workflow, args, count, atOnce, late) {
    return this.#json(`/flood/${workflow}`, { args, count, atOnce, late }, 300_000);
  }

  resume(token, payload) {
    return this.#json('/resume', { token, payload });
  }

  /** Looks up a hook like an app: `{runId, hookId, metadata}`. */
  hook(token) {
    return this.#json(`/hook?token=${encodeURIComponent(token)}`);
  }

  cancel(runId) {
    return this.#json(`/cancel/${runId}`, {});
  }

  /** How often the counted step ran in this process. */
  bodies() {
    return this.#json('/bodies');
  }

  /** The stack of the error that the step failsAfar threw last in this process. */
  thrown() {
    return this.#json('/thrown');
  }

  /** Whether the World in this process shows the calls of SDKs from before event sourcing: on runs, steps and hooks. */
  legacyCalls() {
    return this.#json('/legacy-calls');
  }

  deliveries() {
    return this.#json('/deliveries');
  }

  /** The bytes of a run's default stream, as the SDK returns them; ends when the stream does. */
  async stream(runId, startIndex = 0) {
    const response = await fetch(`${this.url}/stream/${runId}?startIndex=${startIndex}`, { signal: AbortSignal.timeout(60_000) });
    return new Uint8Array(await response.arrayBuffer());
  }

  /** All values of a run's stream, by default the default one, once it has ended; bytes are `{bytes}`. */
  values(runId, timeout = 60_000, options = {}) {
    return this.#json(`/values/${runId}?options=${encodeURIComponent(JSON.stringify(options))}`, undefined, timeout);
  }

  /** What a run returned, with all values of the stream in its field `stream`. */
  returned(runId, timeout = 60_000) {
    return this.#json(`/returned/${runId}`, undefined, timeout);
  }

  async #json(path, body, timeout = 60_000) {
    const response = await fetch(this.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(timeout),
    });
    const answer = /** @type {any} */ (await response.json());
    if (!response.ok) throw Object.assign(new Error(`${path}: ${answer.error?.message}`), answer.error && { name: answer.error.name });
    return answer;
  }
}
