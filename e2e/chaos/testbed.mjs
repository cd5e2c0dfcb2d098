// @ts-check
// Everything that runs while it is killed: Redis, two replicas of the service, an app of each SDK.
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
/** Of these several may be away at once. */
const OURS = new Set(['service', 'app']);
/** By how much the clocks of a fault and of what is lost by it may differ: a replica is behind, an answer takes its time. */
const AROUND = 3000;

export class House {
  #mode;
  #folder;
  #durability;
  #services = [];
  #appList = [];
  parts = [];
  apps = {};
  apis = [];

  static async start(how) {
    const house = new House();
    try {
      await house.#build(how);
    } catch (error) {
      await house.kill();
      throw error;
    }
    return house;
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

  /** Takes a process that runs into its care. */
  #own(kind, name, process, log) {
    const part = new Part(kind, name, process, log);
    part.watch();
    this.parts.push(part);
  }

  /** Whether nothing is being done to the part of that name. */
  isUp(name) {
    return this.parts.some((part) => part.name === name && part.idle);
  }

  get redis() {
    return this.#mode.redis;
  }

  /** The Redis nodes that have keys of their own. */
  get masters() {
    return this.#mode.masters;
  }

  /**
   * Whether what Redis acknowledged between two times may be lost: replicas copy later, so a new master may lack what the old one
   * had. Never where the service waits for all replicas of a master: of several, the one that did not confirm may be the new master.
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

  /** What the steps have written: `{what, step, execution, attempt, pid}` each. */
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

  /** A GET that asks replica after replica until one of them knows: the body, or undefined where there is no such thing. */
  async get(path, signal) {
    for (let turn = 0; ; turn++) {
      signal?.throwIfAborted();
      const answer = await this.apis[turn % this.apis.length].request(path).catch(() => undefined);
      if (answer?.status === 200) return answer.body;
      if (answer?.status === 404) return undefined;
      await delay(200);
    }
  }

  /** Asks all processes to stop; what each service and app ends with, by name. */
  async stop() {
    await Promise.all(this.parts.map((part) => part.close()));
    const codes = {};
    for (const [i, app] of this.#appList.entries()) codes[`app ${SDKS[i]}`] = await app.stop();
    for (const [i, service] of this.#services.entries()) codes[`replica ${i + 1}`] = await service.stop();
    await this.#remove();
    return codes;
  }

  /** Ends all processes where they are. */
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
