// @ts-check
// Runs that start at a steady rate, with a limited number of them open, and the external part of each run: its hook
// is resumed, and its streams are read live.
import { setTimeout as delay } from 'node:timers/promises';
import { readLive, streamOf } from '../lib/liveReader.mjs';
import { everyWay, KINDS } from './kinds.mjs';

const ENDED = new Set(['completed', 'failed', 'cancelled']);
/**
 * How long a run must be missing, in milliseconds, to count as lost. A start is acknowledged if its message is in the queue, even if the
 * call that creates the run failed; the run then exists once the message is delivered.
 */
const GONE = 20_000;
const KIND_WEIGHTS = Object.values(KINDS).map((kind) => [kind.weight, kind]);

export class Load {
  #testbed;
  #random;
  #open = 0;
  #begun = 0;
  #pending = new Set();
  /** The runs whose start was acknowledged. */
  runs = [];
  /** The number of starts without an answer, because the service or app became unavailable. */
  unacknowledged = 0;
  /** Acknowledged resumes that Redis lost later: `{run, at}`. They were repeated. */
  lostResumes = [];

  constructor(testbed, random) {
    this.#testbed = testbed;
    this.#random = random;
  }

  get open() {
    return this.#open;
  }

  /** Starts `rate` runs a second, with at most `most` of them open, until `signal` fires. `pace` is how slowly they write; `patience` limits the rest. */
  async start({ rate, most, pace, signal, patience }) {
    const first = { v4: everyWay(pace), v5: everyWay(pace) };
    for (let turn = 0; !signal.aborted; ) {
      await delay(1000 / rate, undefined, { signal }).catch(() => {});
      if (signal.aborted || this.#open >= most) continue;
      const sdk = turn++ % 2 === 0 ? 'v4' : 'v5';
      if (!this.#testbed.isUp(`app ${sdk}`)) continue;
      const run = { sdk, ...(first[sdk].pop() ?? this.#random.oneOf(KIND_WEIGHTS).make({ random: this.#random, pace, id: this.#begun++ })) };
      this.#open++;
      const life = this.#live(run, patience).finally(() => {
        this.#open--;
        this.#pending.delete(life);
      });
      this.#pending.add(life);
    }
  }

  /** Waits for everything that was started. */
  async settled() {
    await Promise.all(this.#pending);
  }

  async #live(run, patience) {
    run.begunAt = Date.now();
    try {
      run.runId = await this.#testbed.apps[run.sdk].begin(run.workflow, ...run.args);
    } catch {
      this.unacknowledged++;
      return;
    }
    await this.follow(run, patience);
  }

  /** Does the external part of a run whose start was acknowledged, until it has ended or counts as lost. */
  async follow(run, patience) {
    run.ackedAt = Date.now();
    this.runs.push(run);
    if (run.plans) this.#read(run, patience);
    if (run.payload !== undefined) await this.#resume(run, patience);
    const missing = new Missing();
    while (!patience.aborted && !missing.forLong) {
      await delay(1000);
      const found = await this.#testbed.get(`/v1/runs/${run.runId}`, patience).catch(() => undefined);
      missing.note(found);
      if (!found) continue;
      if (ENDED.has(found.status)) break;
      await this.resumeAgain(run, patience);
    }
    run.settledAt = Date.now();
  }

  /**
   * Resumes the hook of a run that waits for it. Either Redis lost an acknowledged resume, which counts as such, or there was none yet: the
   * run came so late that it counted as lost. Redis may also have lost the end of a run together with its resume.
   */
  async resumeAgain(run, patience) {
    if (run.payload === undefined || !(await this.#waits(run, patience))) return;
    if (run.resumedAt) this.lostResumes.push({ run, at: run.resumedAt });
    run.resumedAt = undefined;
    await this.#resume(run, patience);
  }

  /** Whether a run waits for its hook. */
  async #waits(run, patience) {
    const page = await this.#testbed.get(`/v1/runs/${run.runId}/events?sortOrder=asc`, patience).catch(() => undefined);
    const types = page?.data.map(({ eventType }) => eventType) ?? [];
    return types.includes('hook_created') && !types.includes('hook_received');
  }

  /** Reads the streams of a run from the beginning, each through another replica than its writer. */
  #read(run, patience) {
    const names = new Set(run.plans.map(({ namespace }) => streamOf(run.runId, namespace)));
    const urls = run.sdk === 'v4' ? this.#testbed.urls.toReversed() : this.#testbed.urls;
    run.live = new Map([...names].map((name) => [name, readLive(urls, name, { signal: patience })]));
  }

  /** Resumes the run's hook until that is acknowledged, the run has continued by an unacknowledged resume, or the run is lost. */
  async #resume(run, patience) {
    const missing = new Missing();
    while (!patience.aborted && !missing.forLong) {
      await delay(500);
      run.refused = await this.#testbed.apps[run.sdk].resume(run.args[0], run.payload).then(
        () => undefined,
        (error) => error.message,
      );
      if (run.refused === undefined) {
        run.resumedAt = Date.now();
        return;
      }
      const found = await this.#testbed.get(`/v1/runs/${run.runId}`, patience).catch(() => undefined);
      if (found && ENDED.has(found.status)) return;
      missing.note(found);
    }
  }
}

/** Since when a run is missing without interruption. */
class Missing {
  #since;

  note(found) {
    this.#since = found ? undefined : (this.#since ?? Date.now());
  }

  get forLong() {
    return this.#since !== undefined && Date.now() - this.#since >= GONE;
  }
}
