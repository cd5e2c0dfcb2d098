// @ts-check
// A test's own PostgreSQL, in a temporary folder. Its programs refuse to run as root, who gives them to the user nobody.
import { execFileSync } from 'node:child_process';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from './process.mjs';

const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

export class Postgres {
  #bin;
  #folder;
  #port;

  static async start() {
    const server = new Postgres();
    server.#bin = await programs();
    server.#port = await freePort();
    server.#folder = await mkdtemp(join(tmpdir(), 'world-redis-e2e-pg-'));
    if (nobody.uid) await chown(server.#folder, nobody.uid, nobody.gid);
    server.#run('initdb', '-D', server.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync');
    server.resume();
    return server;
  }

  get url() {
    return `postgres://postgres@127.0.0.1:${this.#port}/postgres?sslmode=disable`;
  }

  get #data() {
    return join(this.#folder, 'data');
  }

  #run(name, ...args) {
    return execFileSync(join(this.#bin, name), args, { cwd: this.#folder, ...nobody, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  }

  /** Starts it, again after `stop`, and waits until it answers. */
  resume() {
    const options = `-p ${this.#port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c log_min_messages=fatal`;
    this.#run('pg_ctl', 'start', '-s', '-w', '-D', this.#data, '-l', join(this.#folder, 'log'), '-o', options);
  }

  stop() {
    this.#run('pg_ctl', 'stop', '-s', '-m', 'immediate', '-D', this.#data);
  }

  async end() {
    this.stop();
    await rm(this.#folder, { recursive: true });
  }

  /** The rows of a query without a result's form: lines of fields that are separated by |. */
  query(sql) {
    return this.#run('psql', '-X', '-A', '-t', '-c', sql, this.url).trim().split('\n').filter(Boolean);
  }
}

/** The folder of PostgreSQL's programs on Debian, or of those in PATH. */
async function programs() {
  const debian = '/usr/lib/postgresql';
  const [version] = await readdir(debian).catch(() => []);
  if (version) return join(debian, version, 'bin');
  return dirname(execFileSync('which', ['initdb'], { encoding: 'utf8' }).trim());
}
