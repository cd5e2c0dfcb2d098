// @ts-check
// Every few seconds something is killed, frozen, cut off or replaced as the master. The seed decides when, what, how
// and for how long.
import { setTimeout as delay } from 'node:timers/promises';

/** The probability of each fault if it is possible, and the probability that it lasts long. */
export const WAYS = {
  kill: { weight: 12, long: 0.2 },
  freeze: { weight: 7, long: 0.6 },
  drop: { weight: 4, long: 0.4 },
  refuse: { weight: 2, long: 0.4 },
  failover: { weight: 5, long: 0 },
};

export class Faults {
  #parts;
  #ways;
  #random;
  #log;
  #underWay = new Set();
  /** How often each fault happened: `{'kill app': 3}`. */
  counts = {};

  /** `ways` are the faults of WAYS that may happen. */
  constructor(parts, random, log, ways = Object.keys(WAYS)) {
    this.#ways = ways;
    this.#parts = parts.filter((part) => this.#of(part).length > 0);
    this.#random = random;
    this.#log = log;
  }

  /** Continues until `signal` fires; then everything runs again. `every`, `brief` and `long` are ranges in milliseconds. */
  async run({ every, brief, long, signal }) {
    while (!signal.aborted) {
      await delay(this.#random.between(...every), undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      this.#one(brief, long);
    }
    await Promise.all(this.#underWay);
  }

  #of(part) {
    return part.ways.filter((way) => this.#ways.includes(way));
  }

  #one(brief, long) {
    // Each fault draws the same number of random numbers, so that a part that happens to be unavailable does not
    // change later faults.
    const first = this.#random.between(0, this.#parts.length - 1);
    const atMaster = this.#random.next() < 0.5;
    const [way, size, lasts] = [this.#random.next(), this.#random.next(), this.#random.next()];
    const inTurn = [...this.#parts.slice(first), ...this.#parts.slice(0, first)];
    const masters = atMaster && inTurn[0].kind === 'redis' ? inTurn.filter(({ isMaster }) => isMaster) : [];
    const part = [...masters, ...inTurn].find(({ free }) => free);
    if (!part) return;
    const how = chosen(this.#of(part), way);
    const [from, to] = size < WAYS[how].long ? long : brief;
    const milliseconds = Math.round(from + lasts * (to - from));
    const kind = part.isMaster ? 'master' : part.kind;
    this.counts[`${how} ${kind}`] = (this.counts[`${how} ${kind}`] ?? 0) + 1;
    this.#log(`${how} ${part.name}${part.isMaster ? ', a master,' : ''} for ${milliseconds} ms`);
    const fault = part.suffer(how, milliseconds).finally(() => this.#underWay.delete(fault));
    this.#underWay.add(fault);
  }
}

/** One of the faults, selected by a number from 0 to 1. */
function chosen(ways, number) {
  let at = number * ways.reduce((sum, way) => sum + WAYS[way].weight, 0);
  return ways.find((way) => (at -= WAYS[way].weight) < 0) ?? ways.at(-1);
}
