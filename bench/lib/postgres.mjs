// @ts-check
// The bench's own PostgreSQL, if one is installed: a new cluster in a temporary folder.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, realpathSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { Child, freePort, run } from '../../e2e/lib/process.mjs';
import { until } from '../../e2e/lib/wait.mjs';

/** The folder with initdb and postgres; undefined if there is none. */
function programs() {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...globSync('/usr/lib/postgresql/*/bin').toReversed()];
  const found = folders.find((folder) => existsSync(join(folder, 'postgres')));
  return found && dirname(realpathSync(join(found, 'postgres')));
}

export class PostgresServer {
  #folder;
  #child;

  static async start() {
    const bin = programs();
    if (!bin) throw new Error('no PostgreSQL on this machine');
    const server = new PostgresServer();
    try {
      await server.#start(bin);
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  async #start(bin) {
    const port = await freePort();
    this.#folder = await mkdtemp(join(tmpdir(), 'world-redis-bench-pg-'));
    await chmod(this.#folder, 0o755);
    const data = join(this.#folder, 'data');
    // PostgreSQL refuses to run as root. setpriv is replaced by the program, so that a signal reaches it.
    const root = userInfo().uid === 0;
    if (root) execFileSync('chown', ['postgres', this.#folder]);
    /** @returns {[string, string[]]} */
    const as = (program, args) => (root ? ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', join(bin, program), ...args]] : [join(bin, program), args]);
    const made = await run(...as('initdb', ['-D', data, '-U', 'bench', '-A', 'trust', '--no-sync']));
    if (made.code !== 0) throw new Error(`initdb: ${made.tail}`);
    this.#child = new Child('postgres', ...as('postgres', ['-D', data, '-p', port, '-h', '127.0.0.1', '-k', this.#folder].map(String)));
    this.url = `postgres://bench@127.0.0.1:${port}/postgres`;
    await until('PostgreSQL to answer', async () => (await run(join(bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)])).code === 0, {
      child: this.#child,
    });
  }

  async stop() {
    await this.#child?.end('SIGINT');
    await rm(this.#folder, { recursive: true, force: true });
  }
}
