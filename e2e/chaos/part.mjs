// A process that is killed and frozen, and started again whatever it ended of, as a supervisor does it.
import { setTimeout as delay } from 'node:timers/promises';

export class Part {
  #process;
  #closing = false;
  #restart;

  /** `process` has start(), kill() and child (lib/service.mjs, app.mjs, redis.mjs). */
  constructor(kind, name, process, log) {
    this.kind = kind;
    this.name = name;
    this.log = log;
    this.#process = process;
    /** Up, and nothing is being done to it. */
    this.idle = false;
    /** When this harness killed which process, and what ended by itself. */
    this.kills = [];
    this.ownEnds = [];
  }

  async start() {
    for (;;) {
      if (this.#closing) return;
      try {
        await this.#process.start();
        break;
      } catch (error) {
        this.log(`${this.name} does not start yet: ${error.message.split('\n')[0]}`);
        await this.#process.child?.end('SIGKILL');
        await delay(500);
      }
    }
    this.watch();
  }

  /** Takes a process that has been started into its care. */
  watch() {
    const { child } = this.#process;
    this.idle = true;
    child.exited.then((code) => {
      if (!this.idle || this.#closing || this.#process.child !== child) return;
      this.idle = false;
      this.ownEnds.push({ name: this.name, code, tail: child.tail });
      this.log(`${this.name} ended by itself: ${code}`);
      this.#restart = this.start();
    });
  }

  async kill(downtime) {
    this.idle = false;
    this.kills.push({ pid: this.#process.child.pid, at: Date.now() });
    await this.#process.kill();
    await delay(downtime);
    await this.start();
  }

  async freeze(milliseconds) {
    this.idle = false;
    const { child } = this.#process;
    child.signal('SIGSTOP');
    await delay(milliseconds);
    child.signal('SIGCONT');
    this.idle = child.alive;
    if (!child.alive) await this.start();
  }

  /** No process of this part is started any more. */
  async close() {
    this.#closing = true;
    this.idle = false;
    await this.#restart;
  }
}
