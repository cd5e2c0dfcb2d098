// Every few seconds something is killed, or stands still for a while: when, what, how and how long is chosen by the seed.
import { setTimeout as delay } from 'node:timers/promises';

const HOW = [
  [13, 'kill'],
  [7, 'freeze'],
];

export class Faults {
  #parts;
  #random;
  #log;
  #underWay = new Set();
  /** How often what happened: `{'kill app': 3}`. */
  counts = {};

  constructor(parts, random, log) {
    this.#parts = parts;
    this.#random = random;
    this.#log = log;
  }

  /** Goes on until `signal` says so; all is up again then. `every`, `brief` and `long` are milliseconds, from and to. */
  async run({ every, brief, long, signal }) {
    while (!signal.aborted) {
      await delay(this.#random.between(...every), undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      this.#one(brief, long);
    }
    await Promise.all(this.#underWay);
  }

  #one(brief, long) {
    // As many numbers are drawn for each fault, so that a part that happens to be away changes nothing of those that follow.
    const first = this.#random.between(0, this.#parts.length - 1);
    const how = this.#random.oneOf(HOW);
    const lasts = this.#random.between(...(this.#random.next() < (how === 'kill' ? 0.2 : 0.5) ? long : brief));
    const part = [...this.#parts.slice(first), ...this.#parts.slice(0, first)].find(({ idle }) => idle);
    if (!part) return;
    const what = `${how} ${part.kind}`;
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    this.#log(`${how} ${part.name} for ${lasts} ms`);
    const fault = (how === 'kill' ? part.kill(lasts) : part.freeze(lasts)).finally(() => this.#underWay.delete(fault));
    this.#underWay.add(fault);
  }
}
