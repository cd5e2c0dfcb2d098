import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import { ancestors } from './ancestors.js';
import { basePaths } from './basePaths.js';
import { isDeno } from './deno.js';
import { threadListeners } from './handles.js';
import { type Listener, originOf, portOf } from './listener.js';
import { listenersOf } from './listeners.js';
import { basePathAt, probeHealth, reachesProcess } from './probe.js';

/** What a search does with its results. */
export interface SearchEvents {
  /** Is called once, with the base URL at which a workflow app answered; the search is over. */
  found(baseUrl: string): void;
  /** Is called once if none was found within the patience: what is missing, and the base URL to assume, if any. The search goes on. */
  missing(text: string, guess: string | undefined): void;
}

/** How long a search waits, in milliseconds. */
export interface SearchTimes {
  /** Until it reports that nothing was found. */
  patience: number;
  /** For a better address than the one that has answered. */
  better: number;
  /** Until it looks for new ports again, by how long the search has taken. */
  pause(elapsed: number): number;
}

const TIMES: SearchTimes = {
  patience: 10_000,
  better: 1_000,
  // Where a program of the system has to be started for each look, it waits longer.
  pause: (elapsed) => Math.max(elapsed < 10_000 ? 100 : elapsed < 60_000 ? 1_000 : elapsed < 600_000 ? 5_000 : 30_000, process.platform === 'linux' ? 0 : 1_000),
};

/** Pauses between probes of one port grow from the first to the second of these. */
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 5_000;
/** More ports than this are not probed. */
const MOST_TARGETS = 32;
const GUESSED_PORT = 3000;
const DENO_PORT = 8000;

/** How good an address is; the lower the better. */
enum Rank {
  /** A development server that passes requests on to this process: its port stays when this process is replaced. */
  Ancestor,
  /** The port in `PORT`, and this process listens on it. */
  OwnNamed,
  Own,
  /** In a worker thread, which a server in the main thread may replace. */
  OwnThread,
  GuessNamed,
  Guess,
}

interface Target {
  origin: string;
  rank: Rank;
  /** Whether a workflow app there may be another one, so that it must show that requests reach this process. */
  foreign: boolean;
  state: 'asking' | 'confirmed' | 'failed';
  baseUrl?: string;
  confirmedAt: number;
  failures: number;
  retryAt: number;
  why: string;
  /** The base path that the server named; null if it named none. */
  named?: string | null;
}

/**
 * Looks for the address at which this process serves its workflow routes: the ports on which it listens, or a
 * development server above it. An address counts only once a workflow app has answered there.
 */
export class AddressSearch {
  readonly #targets = new Map<string, Target>();
  readonly #began = Date.now();
  #ancestors: number[] | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;
  #reported = false;
  /** Whether the ports of this process can be found out. */
  #visible = true;

  constructor(
    private readonly processId: string,
    private readonly events: SearchEvents,
    private readonly times: SearchTimes = TIMES,
  ) {}

  /** Looks once, and goes on in the background without keeping the process alive. Returns whether there is any port that may be the app's. */
  async start(): Promise<boolean> {
    await this.#look();
    return this.#targets.size > 0;
  }

  stop(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    this.#ancestors ??= await ancestors().catch(() => []);
    const listeners = await listenersOf([process.pid, ...this.#ancestors]).catch(() => undefined);
    if (this.#ended) return;
    this.#visible = listeners !== undefined;
    this.#update([...this.#ranked(listeners ?? []), ...this.#guesses()]);
    for (const target of this.#targets.values()) {
      if (target.state === 'failed' && Date.now() >= target.retryAt) void this.#ask(target);
    }
    this.#decide();
    if (this.#ended) return;
    this.#timer = setTimeout(() => void this.#look(), this.times.pause(Date.now() - this.#began));
    this.#timer.unref();
  }

  /** Adds new targets and removes those that are gone. */
  #update(wanted: [string, Rank, boolean][]): void {
    const origins = new Set<string>();
    for (const [origin, rank, foreign] of wanted) {
      if (origins.has(origin) || origins.size === MOST_TARGETS) continue;
      origins.add(origin);
      const target = this.#targets.get(origin);
      if (target) target.rank = rank;
      else this.#targets.set(origin, { origin, rank, foreign, state: 'failed', confirmedAt: 0, failures: 0, retryAt: 0, why: '' });
    }
    for (const origin of this.#targets.keys()) if (!origins.has(origin)) this.#targets.delete(origin);
  }

  #ranked(listeners: Listener[]): [string, Rank, boolean][] {
    const named = portOf(process.env['PORT']);
    const threads = isMainThread ? [] : threadListeners().map(({ port }) => port);
    return listeners.map((listener) => {
      const origin = originOf(listener);
      // The primary of a cluster listens for its workers, and any of them may answer.
      if (listener.pid !== process.pid) return [origin, Rank.Ancestor, !(cluster.isWorker && listener.pid === process.ppid)];
      if (threads.includes(listener.port)) return [origin, Rank.OwnThread, false];
      return [origin, listener.port === named ? Rank.OwnNamed : Rank.Own, false];
    });
  }

  /** Ports that are usual, once this process has had the time to listen on its own, or where its ports cannot be found out. */
  #guesses(): [string, Rank, boolean][] {
    if (this.#visible && !this.#isLate()) return [];
    const named = portOf(process.env['PORT']);
    const usual = isDeno() ? [GUESSED_PORT, DENO_PORT] : [GUESSED_PORT];
    return [
      ...(named === undefined ? [] : [named]).map((port): [string, Rank, boolean] => [originOf({ host: undefined, port }), Rank.GuessNamed, false]),
      ...usual.map((port): [string, Rank, boolean] => [originOf({ host: undefined, port }), Rank.Guess, this.#visible]),
    ];
  }

  async #ask(target: Target): Promise<void> {
    target.state = 'asking';
    target.why = '';
    const answered = (await this.#firstThatAnswers(target, basePaths())) ?? (await this.#atNamedPath(target));
    if (answered === undefined) {
      target.state = 'failed';
      target.retryAt = Date.now() + Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** target.failures);
      target.failures++;
    } else {
      target.state = 'confirmed';
      target.baseUrl = answered;
      target.confirmedAt = Date.now();
    }
    this.#decide();
  }

  async #firstThatAnswers(target: Target, paths: string[]): Promise<string | undefined> {
    for (const path of paths) {
      const baseUrl = `${target.origin}${path}`;
      if (target.foreign) {
        if (await reachesProcess(baseUrl, this.processId)) return baseUrl;
        continue;
      }
      const probed = await probeHealth(baseUrl);
      if (probed.ok) return baseUrl;
      target.why ||= probed.why;
    }
    return undefined;
  }

  /** At the base path that the server itself names, which it is asked for once. */
  async #atNamedPath(target: Target): Promise<string | undefined> {
    target.named ??= (await basePathAt(target.origin)) ?? null;
    return target.named === null ? undefined : this.#firstThatAnswers(target, [target.named]);
  }

  #decide(): void {
    if (this.#ended) return;
    const targets = [...this.#targets.values()].sort((a, b) => a.rank - b.rank);
    const best = targets.find(({ state }) => state === 'confirmed');
    if (best?.baseUrl !== undefined) {
      const better = targets.some(({ rank, state }) => rank < best.rank && state === 'asking');
      if (better && Date.now() - best.confirmedAt < this.times.better) return;
      this.stop();
      this.events.found(best.baseUrl);
      return;
    }
    if (this.#reported || !this.#isLate() || targets.some(({ state }) => state === 'asking')) return;
    this.#reported = true;
    const port = portOf(process.env['PORT']) ?? (this.#visible ? undefined : GUESSED_PORT);
    this.events.missing(this.#whatIsMissing(targets), port === undefined ? undefined : `${originOf({ host: undefined, port })}${basePaths()[0]}`);
  }

  #isLate(): boolean {
    return Date.now() - this.#began >= this.times.patience;
  }

  #whatIsMissing(targets: Target[]): string {
    const own = targets.filter(({ rank }) => rank === Rank.OwnNamed || rank === Rank.Own || rank === Rank.OwnThread);
    if (own.length > 0) return `the workflow routes of this app do not answer where it listens (${own.map(({ why }) => why).join('; ')})`;
    return this.#visible ? 'this process does not listen on any port' : 'the port of this app cannot be found out';
  }
}
