// @ts-check
// One example with one SDK: installed once, then tried in each mode with a service and a Redis of its own.
import { cpSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Api } from '../../e2e/lib/api.mjs';
import { world } from '../../e2e/lib/paths.mjs';
import { Child, freePort } from '../../e2e/lib/process.mjs';
import { RedisServer } from '../../e2e/lib/redis.mjs';
import { Service } from '../../e2e/lib/service.mjs';
import { makeFolder, removeFolders } from './folders.mjs';
import { command, install } from './install.mjs';
import { order } from './order.mjs';
import { leftRunning, unexpected } from './processes.mjs';
import { line } from './report.mjs';
import { toolsEnv } from './tools.mjs';

const BUILD_SECONDS = 300;
const END_MS = 15_000;

/** @typedef {{ name: string, sdk: string, mode: string, result: 'passed' | 'failed' | 'not by the SDK', note?: string, [seconds: string]: any }} Row */

/**
 * @param {object} what
 * @param {import('./list.mjs').Example} what.example
 * @param {string} what.sdk
 * @param {{ tarball: string, file: string }} what.client
 * @param {string[]} what.modes
 * @param {string} what.world  `local` for the SDK's own
 * @param {string | undefined} what.keep  the folder where projects are kept
 * @param {boolean} what.verbose
 * @returns {Promise<Row[]>}
 */
export async function tryExample({ example, sdk, client, modes, world: kind, keep, verbose }) {
  const rows = [];
  const folders = [];
  const steps = { dev: example.dev, production: example.start, moved: example.moved };
  /** @type {string | undefined} */
  let project;
  let installed = 0;
  let built = false;
  let restore = () => {};

  for (const mode of modes.filter((name) => steps[name])) {
    /** @type {Row} */
    const row = { name: example.name, sdk, mode, result: 'passed' };
    rows.push(row);
    const reason = kind === 'local' ? undefined : example.unsupported?.[`${sdk} ${mode}`];
    if (reason) {
      Object.assign(row, { result: 'not by the SDK', note: reason });
      console.log(line(row));
      continue;
    }
    const tried = new Trial({ start: steps[mode], mode, client, kind, verbose });
    try {
      if (!project) {
        const began = performance.now();
        project = await install(example, sdk, client, keep);
        if (!keep) folders.push(project);
        installed = row.install = performance.now() - began;
      }
      await tried.prepare();
      if (mode !== 'dev' && !built) {
        const began = performance.now();
        for (const one of commands(example.build)) await command(one[0], one.slice(1), { cwd: project, seconds: BUILD_SECONDS, env: tried.buildEnv });
        row.build = performance.now() - began;
        built = true;
      }
      if (mode === 'moved') {
        const moved = makeFolder(`${example.name}-${sdk}-moved`);
        folders.push(moved);
        for (const path of steps.moved?.copy ?? []) {
          mkdirSync(dirname(join(moved, path)), { recursive: true });
          cpSync(join(project, path), join(moved, path), { recursive: true, verbatimSymlinks: true });
        }
        const gone = `${project}-gone`;
        renameSync(project, gone); // nothing may be loaded from there
        if (!keep) folders.push(gone);
        else restore = () => renameSync(gone, join(keep, `${example.name}-${sdk}`));
        project = moved;
      }
      Object.assign(row, await tried.run(project));
      if (row.install) row.first = installed + row.ready + row.run;
    } catch (error) {
      Object.assign(row, { result: 'failed', note: error.message.split('\n')[0] });
      console.error(`\n${error.message}${error.cause ? `\n(${error.cause.message ?? error.cause})` : ''}\n${tried.tails}`);
    } finally {
      const left = await tried.end(keep ? [...folders, join(keep, `${example.name}-${sdk}`)] : folders);
      if (left && row.result === 'passed') Object.assign(row, { result: 'failed', note: left });
    }
    console.log(line(row));
    if (!project) break; // what cannot be installed cannot be tried in another mode
  }
  restore();
  removeFolders(folders);
  return rows;
}

function end(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended with the one that started it.
  }
}

/** A build is one command or several. */
const commands = (build = []) => (typeof build[0] === 'string' ? [build] : build);

/** One start of the app. Production and moved output are tried with a token, development without, as usual. */
class Trial {
  #redis;
  #service;
  #app;

  constructor({ start, mode, client, kind, verbose }) {
    this.start = start;
    this.mode = mode;
    this.client = client;
    this.kind = kind;
    this.verbose = verbose;
  }

  /** Starts Redis and the service. */
  async prepare() {
    if (this.kind === 'local') return;
    this.#redis = await RedisServer.start();
    this.#service = new Service({ redis: this.#redis, port: await freePort(), token: this.mode === 'dev' ? undefined : 'a-token-of-the-examples' });
    await this.#service.start();
  }

  get buildEnv() {
    return this.kind === 'local' ? {} : { WORKFLOW_TARGET_WORLD: this.start.client === 'file' ? this.client.file : world };
  }

  async run(project) {
    const port = await freePort();
    const filled = (text) => text.replaceAll('{port}', String(port));
    const { command: words, port: by, env = {}, cwd = '.' } = this.start;
    const [name, ...args] = [...words, ...(by?.startsWith('-') ? [by, '{port}'] : [])].map(filled);
    const began = performance.now();
    this.#app = new Child('app', name, args, {
      cwd: join(project, cwd),
      group: true,
      env: {
        ...toolsEnv(),
        ...(this.mode !== 'dev' && { NODE_ENV: 'production' }),
        ...this.#service?.clientEnv,
        ...this.buildEnv,
        ...(by && !by.startsWith('-') && { [by]: String(port) }),
        ...Object.fromEntries(Object.entries(env).map(([key, value]) => [key, filled(value)])),
      },
    });
    const done = await order(`http://localhost:${port}`, this.#app);
    const times = { ready: done.readyAt - began, run: done.endedAt - done.readyAt };
    if (this.#service) {
      const { status } = await new Api(this.#service.url, this.#service.token).run(done.runId);
      if (status !== 'completed') throw new Error(`the service says that the run is ${status}`);
    }
    if (this.verbose) console.log(this.tails);
    return times;
  }

  /** Ends what was started; says what is still running in the folders, after it has killed that, too. */
  async end(folders) {
    await this.#app?.end('SIGTERM', END_MS);
    await this.#service?.stop();
    await this.#redis?.stop();
    // What the app itself started gets the same signal, and may need a moment longer.
    const until = performance.now() + END_MS;
    let left = leftRunning(folders);
    while (unexpected(left, this.start.leaves).length > 0 && performance.now() < until) {
      await setTimeout(100);
      left = leftRunning(folders);
    }
    for (const { pid } of left) end(pid);
    const names = unexpected(left, this.start.leaves).map(({ name }) => name);
    return names.length > 0 && `still running after the end: ${names.join('; ')}`;
  }

  get tails() {
    return [
      ['app', this.#app],
      ['service', this.#service],
    ]
      .filter(([, part]) => part)
      .map(([name, part]) => `--- the last lines of the ${name} ---\n${part.tail}`)
      .join('\n');
  }
}
