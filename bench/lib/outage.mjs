// @ts-check
// What callers of the service see during an outage of Redis: a call of each kind every 50 ms, whatever the results of
// earlier calls.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { readFrames } from '../../e2e/lib/frames.mjs';

const EVERY = 50;
const PATIENCE = 10_000;

export const KINDS = ['read', 'event', 'queue', 'stream', 'live'];

/** @typedef {{ start: number, end?: number, error?: Error }} Probe  a call; without `end` it has not succeeded */

export class Callers {
  #url;
  #second;
  #newRun;
  #app;
  /** @type {Record<string, Probe[]>} */
  #calls = Object.fromEntries(KINDS.map((kind) => [kind, []]));
  #open = new Set();
  #over = false;
  #reading;
  #stop = new AbortController();

  /** Writes go to the service at `url`, live reads come from the one at `second`. `newRun` generates run ids. */
  static async start({ url, second, newRun }) {
    const callers = new Callers();
    callers.#url = url;
    callers.#second = second;
    callers.#newRun = newRun;
    await callers.#begin();
    return callers;
  }

  async #begin() {
    const known = this.#newRun();
    const stream = this.#newRun();
    this.#app = createServer((request, response) => this.#delivered(request, response)).listen(0, '127.0.0.1');
    await once(this.#app, 'listening');
    const baseUrl = `http://127.0.0.1:${this.#app.address().port}`;
    await this.#post('/v1/apps', { baseUrl, deploymentId: 'bench', sdk: 'v4' });
    await this.#create(known);
    await this.#create(stream);
    const name = `strm_${stream.slice('wrun_'.length)}_user`;
    const path = `/v1/runs/${stream}/streams/${name}`;
    const ways = {
      read: () => this.#ask(`/v1/runs/${known}`),
      event: () => this.#create(this.#newRun()),
      queue: (call) =>
        this.#post('/v1/queue', { queueName: '__wkf_workflow_bench', deploymentId: 'bench', jsonMessage: JSON.stringify({ probe: this.#calls.queue.indexOf(call) }) }),
      stream: (call) => this.#ask(path, { method: 'POST', headers: { 'content-type': 'application/octet-stream' }, body: String(this.#calls.stream.indexOf(call)) }),
    };
    await ways.stream();
    this.#reading = this.#read(name);
    this.#open.add(this.#call(ways));
  }

  async #ask(path, options) {
    const response = await fetch(this.#url + path, { ...options, signal: AbortSignal.timeout(PATIENCE) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  }

  #post(path, body) {
    return this.#ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  }

  #create(runId) {
    const eventData = { deploymentId: 'bench', workflowName: 'workflow//./bench//outage', input: [], executionContext: {} };
    return this.#post(`/v1/runs/${runId}/events`, { event: { eventType: 'run_created', specVersion: 3, eventData } });
  }

  async #call(ways) {
    while (!this.#over) {
      for (const [kind, make] of Object.entries(ways)) this.#one(kind, make);
      await delay(EVERY);
    }
  }

  #one(kind, make) {
    /** @type {Probe} */
    const call = { start: performance.now() };
    this.#calls[kind].push(call);
    // A message counts as successful when it is delivered, and a chunk when it is read.
    if (kind === 'stream') this.#calls.live.push({ start: call.start });
    const life = make(call)
      .then(
        () => kind !== 'queue' && (call.end = performance.now()),
        (error) => (call.error = error),
      )
      .finally(() => this.#open.delete(life));
    this.#open.add(life);
  }

  async #delivered(request, response) {
    const now = performance.now();
    let text = '';
    for await (const data of request.setEncoding('utf8')) text += data;
    const call = /__health/.test(request.url) ? undefined : this.#calls.queue[Number(/"probe":(\d+)/.exec(text)?.[1])];
    if (call) call.end ??= now;
    response.setHeader('content-type', 'application/json');
    response.end('{"ok":true}');
  }

  /** Reads live like the client: after a broken connection it continues at its next index. */
  async #read(name) {
    for (let index = 0; !this.#stop.signal.aborted; ) {
      const response = await fetch(`${this.#second}/v1/streams/${name}?startIndex=${index}`, {
        headers: { accept: 'application/vnd.world-redis.chunks' },
        signal: this.#stop.signal,
      }).catch(() => undefined);
      const got = (chunk) => {
        index++;
        const call = this.#calls.live[Number(chunk)];
        if (call) call.end ??= performance.now();
      };
      if (response?.ok) await readFrames(response.body, got).catch(() => {});
      await delay(EVERY);
    }
  }

  async stop() {
    this.#over = true;
    await Promise.all(this.#open);
    await delay(1000); // the last writes are delivered and read
    this.#stop.abort();
    await this.#reading;
    this.#app.close();
    this.#app.closeAllConnections();
  }

  /** How many milliseconds after `from` calls of each kind, and all later ones, succeeded again. */
  lags(from) {
    return Object.fromEntries(KINDS.map((kind) => [kind, lagOf(this.#calls[kind], from)]));
  }

  /** Failed calls, by kind and time. */
  failures(from) {
    return KINDS.map((kind) => {
      const calls = this.#calls[kind];
      const bad = calls.filter((call) => call.end === undefined);
      const at = (call) => ((call.start - from) / 1000).toFixed(2);
      const slowest = Math.max(...calls.map(({ start, end }) => (end ?? start) - start));
      return `${kind}: ${bad.length} of ${calls.length} failed${bad.length ? `, begun ${at(bad[0])} to ${at(bad.at(-1))} s: ${bad.at(-1)?.error?.message ?? 'never came'}` : ''}; the slowest took ${Math.round(slowest)} ms`;
    });
  }
}

function lagOf(calls, from) {
  const last = calls.findLastIndex((call) => call.end === undefined);
  const good = calls
    .slice(last + 1)
    .map(({ end }) => end)
    .filter((end) => end >= from);
  if (good.length === 0) throw new Error('no call succeeded any more');
  return Math.min(...good) - from;
}
