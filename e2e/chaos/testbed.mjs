// @ts-check
// Everything that runs during the faults: Redis, two replicas of the service, and an app of each SDK.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Api } from '../lib/api.mjs';
import { App } from '../lib/app.mjs';
import { freePort } from '../lib/process.mjs';
import { Service } from '../lib/service.mjs';
import { mayLoseConfirmed } from './durability.mjs';
import { MODES } from './modes.mjs';
import { Part } from './part.mjs';

const SDKS = ['v4', 'v5'];
/** Several parts of these kinds may be down at the same time. */
const OURS = new Set(['service', 'app']);
/** How far the times of a fault and of a resulting loss may differ: a replica lags behind, and an answer takes time. */
const AROUND = 3000;

export class Testbed {
  #mode;
  #folder;
  #durability;
  #services = [];
  #appList = [];
  parts = [];
  apps = {};
  apis = [];

  static async start(how) {
    const testbed = new Testbed();
    try {
      await testbed.#build(how);
    } catch (error) {
      await testbed.kill();
      throw error;
    }
    return testbed;
  }

  async #build({ mode, downAfter, durability, serviceEnv, appEnv, log }) {
    this.#folder = await mkdtemp(join(tmpdir(), 'world-redis-chaos-'));
    this.#mode = await MODES[mode].start({ downAfter });
    this.#durability = durability;
    if (durability) serviceEnv = { ...serviceEnv, WORKFLOW_WORLD_DURABILITY: durability };
    for (let i = 0; i < 2; i++) {
      const service = new Service({ redis: this.#mode, port: await freePort(), env: serviceEnv });
      await service.start();
      this.#services.push(service);
      this.apis.push(new Api(service.url));
      this.#own('service', `replica ${i + 1}`, service, log);
    }
    for (const [i, sdk] of SDKS.entries()) {
      const env = { ...appEnv, CHAOS_JOURNAL: this.#journal };
      const app = new App({ sdk, deploymentId: sdk, service: this.#services[i], port: await freePort(), env });
      this.apps[sdk] = app;
      this.#appList.push(app);
      await app.start();
      this.#own('app', `app ${sdk}`, app, log);
    }
    for (const { kind, name, process } of this.#mode.processes) this.#own(kind, name, process, log);
    for (const part of this.parts) if (!OURS.has(part.kind)) part.besides(this.parts.filter(({ kind }) => kind === part.kind));
  }

  /** Manages a running process. */
  #own(kind, name, process, log) {
    const part = new Part(kind, name, process, log);
    part.watch();
    this.parts.push(part);
  }

  /** Whether there is no fault in the part of that name. */
  isUp(name) {
    return this.parts.some((part) => part.name === name && part.idle);
  }

  get redis() {
    return this.#mode.redis;
  }

  /** The Redis nodes that hold keys. */
  get masters() {
    return this.#mode.masters;
  }

  /**
   * Whether Redis may lose what it acknowledged between two times: replicas copy later, so a new master may lack
   * writes of the old one. Never if the service waits for all replicas of a master; otherwise a replica that did not
   * confirm may become the master.
   */
  mayLose(from, to) {
    if (!mayLoseConfirmed(this.#durability, this.#mode.replicas)) return false;
    const faults = this.parts.filter(({ kind }) => kind === 'redis').flatMap((part) => part.faults);
    return faults.some((fault) => fault.from - AROUND <= to && from <= fault.to + AROUND);
  }

  get urls() {
    return this.apis.map((api) => api.url);
  }

  get #journal() {
    return join(this.#folder, 'journal');
  }

  /** The steps' journal: `{what, step, execution, attempt, pid}` each. */
  async journal() {
    const text = await readFile(this.#journal, 'utf8').catch(() => '');
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const [what, step, execution, attempt, pid] = line.split(' ');
        return { what, step, execution, attempt: Number(attempt), pid: Number(pid) };
      });
  }

  /** A GET that tries replica after replica until one answers: the body, or undefined if the resource does not exist. */
  async get(path, signal) {
    for (let turn = 0; ; turn++) {
      signal?.throwIfAborted();
      const answer = await this.apis[turn % this.apis.length].request(path).catch(() => undefined);
      if (answer?.status === 200) return answer.body;
      if (answer?.status === 404) return undefined;
      await delay(200);
    }
  }

  /** Stops all processes; returns the exit code of each service and app, by name. */
  async stop() {
    await Promise.all(this.parts.map((part) => part.close()));
    const codes = {};
    for (const [i, app] of this.#appList.entries()) codes[`app ${SDKS[i]}`] = await app.stop();
    for (const [i, service] of this.#services.entries()) codes[`replica ${i + 1}`] = await service.stop();
    await this.#remove();
    return codes;
  }

  /** Kills all processes. */
  async kill() {
    await Promise.all(this.parts.map((part) => part.close()));
    await Promise.all([...this.#appList, ...this.#services].map(({ child }) => child?.end('SIGKILL')));
    await this.#remove();
  }

  async #remove() {
    await this.#mode?.stop();
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true });
  }
}
