// @ts-check
// A process that is killed, frozen and cut off, and restarted after every end, as a supervisor does.
import { setTimeout as delay } from 'node:timers/promises';

export class Part {
  #process;
  #closing = false;
  #restart;
  #siblings = [];

  /**
   * `process` has start(), kill() and child (lib/service.mjs, app.mjs, redisNode.mjs); it may have cut(how) and mend(), failover(), settled(),
   * which waits until all of its kind are at work again, and isMaster.
   */
  constructor(kind, name, process, log) {
    this.kind = kind;
    this.name = name;
    this.log = log;
    this.#process = process;
    /** It runs, and there is no fault. */
    this.idle = false;
    /** When this harness killed which process, and ends that it did not cause. */
    this.kills = [];
    this.ownEnds = [];
    /** The faults, `{from, to}` each, until everything was restored. */
    this.faults = [];
  }

  /** The possible faults. */
  get ways() {
    const has = (name) => typeof this.#process[name] === 'function';
    return ['kill', 'freeze', ...(has('cut') ? ['drop', 'refuse'] : []), ...(has('failover') ? ['failover'] : [])];
  }

  get isMaster() {
    return this.#process.isMaster ?? false;
  }

  /** It gets no fault while one of these has one. */
  besides(parts) {
    this.#siblings = parts.filter((part) => part !== this);
  }

  /** Whether it may get a fault now. */
  get free() {
    return this.idle && this.#siblings.every((part) => part.idle);
  }

  async start() {
    for (;;) {
      if (this.#closing) return;
      try {
        await this.#process.start();
        break;
      } catch (error) {
        this.log(`${this.name} does not start yet: ${error.message.split('\n')[0]} ${lastAlarm(this.#process)}`);
        await this.#process.child?.end('SIGKILL');
        await delay(500);
      }
    }
    await this.#settled();
    this.watch();
  }

  async #settled() {
    await this.#process.settled?.().catch((error) => this.log(`${this.name}: ${error.message}: ${error.cause?.message}`));
  }

  /** Manages a process that was started. */
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

  /** Applies one fault for a time; then everything is restored. */
  async suffer(how, milliseconds) {
    const fault = { how, from: Date.now(), to: Infinity };
    this.faults.push(fault);
    this.idle = false;
    if (how === 'kill') await this.#kill(milliseconds);
    else if (how === 'freeze') await this.#freeze(milliseconds);
    else if (how === 'failover') await this.#failover();
    else await this.#cut(how, milliseconds);
    fault.to = Date.now();
  }

  async #kill(milliseconds) {
    this.kills.push({ pid: this.#process.child.pid, at: Date.now() });
    await this.#process.kill();
    await delay(milliseconds);
    await this.start();
  }

  async #freeze(milliseconds) {
    const { child } = this.#process;
    child.signal('SIGSTOP');
    await delay(milliseconds);
    child.signal('SIGCONT');
    await this.#again(child);
  }

  async #cut(how, milliseconds) {
    const { child } = this.#process;
    this.#process.cut(how);
    await delay(milliseconds);
    this.#process.mend();
    await this.#again(child);
  }

  async #failover() {
    const { child } = this.#process;
    await this.#process.failover().catch((error) => this.log(`${this.name}: no failover: ${error.message}`));
    await this.#again(child);
  }

  async #again(child) {
    await this.#settled();
    if (child.alive) this.idle = true;
    else await this.start();
  }

  /** Starts no further process of this part. */
  async close() {
    this.#closing = true;
    this.idle = false;
    await this.#restart;
  }
}

const lastAlarm = ({ child, tail }) => child?.alarms.at(-1) ?? tail?.trim().split('\n').at(-1) ?? '';
