// @ts-check
// A test's own redis-server, in a temporary folder: append-only file on (unless set otherwise), and no eviction.
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child, freePort } from './process.mjs';
import { until } from './wait.mjs';

/** Arguments of a redis-server that loses nothing that it has acknowledged, whenever it is killed. */
export const safe = ['--appendfsync', 'always'];

export class RedisServer {
  #folder;
  #child;
  #file;
  #persistent;
  #more;
  #env;
  /** @type {number} */
  port;

  /**
   * `more` are further arguments of redis-server, `env` is for its environment. With `rewritten` it has a settings
   * file, in which CONFIG REWRITE stores which master it follows.
   *
   * @param {{ persistent?: boolean, more?: string[], env?: import('./process.mjs').Environment, rewritten?: boolean
   * }} [options]
   */
  static async start({ persistent = true, more = [], env, rewritten = false } = {}) {
    const redis = new RedisServer();
    redis.#persistent = persistent;
    redis.#more = more;
    redis.#env = env;
    redis.port = await freePort();
    redis.#folder = await mkdtemp(join(tmpdir(), 'world-redis-e2e-'));
    if (rewritten) {
      redis.#file = join(redis.#folder, 'redis.conf');
      await writeFile(redis.#file, '');
    }
    await redis.resume();
    return redis;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}/0`;
  }

  get child() {
    return this.#child;
  }

  /** Starts the server with the content of its append-only file. */
  async resume() {
    const settings = [
      ...(this.#file ? [this.#file] : []),
      ...['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.#folder],
      ...['--appendonly', this.#persistent ? 'yes' : 'no', '--appendfsync', 'everysec', '--save', ''],
      ...['--maxmemory-policy', 'noeviction'],
      ...this.#more,
    ];
    this.#child = new Child('redis-server', 'redis-server', settings, { env: this.#env });
    await until('redis-server to answer', async () => (await this.command('PING')) === 'PONG', { child: this.#child });
  }

  /** Stops the server in order, so that its append-only file is complete. */
  async pause() {
    await this.#child.end('SIGTERM');
  }

  /**
   * Kills the server. With "everysec" Redis delays writes to its append-only file for up to two seconds while the
   * disk is busy with a sync: a test that needs everything acknowledged starts it with {@link safe}.
   */
  async kill() {
    await this.#child.end('SIGKILL');
  }

  /** Makes the server answer nobody, with its connections open, until {@link thaw}. */
  freeze() {
    this.#child.signal('SIGSTOP');
  }

  thaw() {
    this.#child.signal('SIGCONT');
  }

  async stop() {
    this.thaw(); // a stopped process does not get the signal to end
    await this.#child.end('SIGTERM');
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Sends one command on its own connection, see {@link command}. */
  command(...words) {
    return command(this.port, ...words);
  }
}

/** How long a server may be silent: a frozen server refuses nothing. */
const PATIENCE = 10_000;

/** Sends one command to a Redis of this machine, on its own connection; integers, strings and flat arrays are returned as such. */
export async function command(port, ...words) {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(PATIENCE, () => socket.destroy(new Error(`no answer from Redis at ${port}`)));
  try {
    await once(socket, 'connect');
    const request = words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join('');
    socket.write(`*${words.length}\r\n${request}`);
    let received = '';
    for await (const data of socket.setEncoding('latin1')) {
      received += data;
      const reply = parse(received, 0);
      if (reply) return reply.value;
    }
    throw new Error('redis-server closed the connection');
  } finally {
    socket.destroy();
  }
}

/** Reads one RESP2 reply at `from`; undefined if it is incomplete. */
function parse(text, from) {
  const lineEnd = text.indexOf('\r\n', from);
  if (lineEnd < 0) return undefined;
  const line = text.slice(from + 1, lineEnd);
  const next = lineEnd + 2;
  switch (text[from]) {
    case '+':
      return { value: line, next };
    case '-':
      throw new Error(line);
    case ':':
      return { value: Number(line), next };
    case '$': {
      const length = Number(line);
      if (length < 0) return { value: null, next };
      if (text.length < next + length + 2) return undefined;
      return { value: text.slice(next, next + length), next: next + length + 2 };
    }
    case '*': {
      const value = [];
      let at = next;
      for (let i = 0; i < Number(line); i++) {
        const item = parse(text, at);
        if (!item) return undefined;
        value.push(item.value);
        at = item.next;
      }
      return { value, next: at };
    }
    default:
      throw new Error(`not a RESP2 reply: ${line}`);
  }
}
