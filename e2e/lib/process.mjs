// @ts-check
// Child processes of a test: started with a clean environment, ended by their process id, and never left running.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Variables of a child; undefined ones are left out.
 *
 * @typedef {Record<string, string | undefined>} Environment
 */

const running = new Set();

process.on('exit', () => running.forEach((child) => child.signal('SIGKILL')));

/**
 * The caller's environment without anything that would direct a child to another World or another Redis. Node's
 * compile cache stays: a hundred processes load the same SDKs.
 */
function cleanEnvironment(extra) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(WORKFLOW_|REDIS_|VERCEL|NODE_(?!COMPILE_CACHE$)|PORT$|HOST$|DEBUG$)/.test(name));
  return { ...Object.fromEntries(inherited), NO_COLOR: '1', ...extra };
}

/** The command in a terminal that `script` makes, and whose exit code it returns. It is util-linux's, on Linux only. */
function inTerminal(command, args) {
  const words = [command, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  return ['script', '--quiet', '--return', '--flush', '--command', words.join(' '), '/dev/null'];
}

export class Child {
  #process;
  #group;
  #output = '';
  #line = '';

  /**
   * `group`: signals are sent to the child and to all that it has started, a process group of its own. `terminal`: it runs
   * in a terminal, where `type` presses keys.
   *
   * @param {string} name
   * @param {string} command
   * @param {string[]} args
   * @param {{ cwd?: string, env?: Environment, timeout?: number, group?: boolean, terminal?: boolean }} [options]
   */
  constructor(name, command, args, { cwd, env, group = false, terminal = false } = {}) {
    this.name = name;
    this.#group = group;
    const [program, ...words] = terminal ? inTerminal(command, args) : [command, ...args];
    const stdin = /** @type {'pipe'} */ (terminal ? 'pipe' : 'ignore');
    this.#process = spawn(program, words, { cwd, env: cleanEnvironment(env), detached: group, stdio: [stdin, 'pipe', 'pipe'] });
    running.add(this);
    this.stdout = '';
    /** The lines of its log at WARN or above. */
    this.alarms = [];
    this.#process.stdout.setEncoding('utf8').on('data', (text) => (this.stdout += text) && this.#keep(text));
    this.#process.stderr.setEncoding('utf8').on('data', (text) => {
      this.#keep(text);
      this.#listen(text);
    });
    this.exited = once(this.#process, 'close').then(([code, signal]) => code ?? signal);
    this.exited.catch((error) => this.#keep(error.message)).finally(() => running.delete(this));
  }

  get pid() {
    return this.#process.pid;
  }

  type(keys) {
    this.#process.stdin.write(keys);
  }

  get alive() {
    return running.has(this);
  }

  /** The child's output on both streams; the beginning is dropped if it is long. */
  get output() {
    return this.#output;
  }

  /** The last lines of the child's output on both streams. */
  get tail() {
    return this.#output.split('\n').slice(-40).join('\n');
  }

  #keep(text) {
    this.#output = (this.#output + text).slice(-200_000);
  }

  #listen(text) {
    const lines = (this.#line + text).split('\n');
    this.#line = lines.pop() ?? '';
    this.alarms.push(...lines.filter((line) => /\blevel=(WARN|ERROR)\b|"level":"(WARN|ERROR)"/.test(line)));
  }

  /**
   * Sends the signal, waits for the end, and returns the exit code or the signal's name.
   *
   * @param {NodeJS.Signals} [signal]
   */
  async end(signal = 'SIGTERM', patience = 45_000) {
    if (!this.alive) return this.exited;
    this.signal(signal);
    const insist = setTimeout(() => this.signal('SIGKILL'), patience);
    try {
      return await this.exited;
    } finally {
      clearTimeout(insist);
    }
  }

  /**
   * Sends a signal without waiting, such as SIGSTOP and SIGCONT, which pause the child and continue it.
   *
   * @param {NodeJS.Signals} name
   */
  signal(name) {
    if (!this.#group || !this.pid) return this.#process.kill(name);
    try {
      return process.kill(-this.pid, name);
    } catch {
      return false; // all of them have ended
    }
  }
}

/**
 * Runs a command to its end and returns how it went.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Environment, timeout?: number, group?: boolean }} [options]
 */
export async function run(command, args, options) {
  const child = new Child(command, command, args, options);
  const limit = setTimeout(() => child.signal('SIGKILL'), options?.timeout ?? 60_000);
  const code = await child.exited;
  clearTimeout(limit);
  return { code, stdout: child.stdout, tail: child.tail };
}

/**
 * A free port of this machine. It is below the range from which the kernel takes the ports of outgoing connections,
 * so that none of those takes it while its server is down.
 */
export async function freePort() {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const server = createServer();
    const free = new Promise((answer) => server.once('listening', () => answer(true)).once('error', () => answer(false)));
    server.listen(port, '127.0.0.1');
    if (!(await free)) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** The port of a server that listens on one. */
export function portOf(server) {
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
}
