// @ts-check
// The figures of a chaos round, and its problems.

/** This many problems are printed in full. */
const TOLD = 25;

const KINDS = ['lost', 'stuck', 'failed', 'wrong', 'invariant', 'chunks', 'reader', 'queue', 'left', 'check'];

export class Report {
  #began = performance.now();
  runs = [];
  faults = {};
  unacknowledged = 0;
  /** Acknowledged data that Redis lost when a replica became the master; `reads` are live readers that had received such chunks. */
  lostByRedis = { starts: 0, resumes: 0, chunks: 0, reads: 0 };
  /** Keys of such runs in other slots than their own. */
  orphans = 0;
  /** Chunks of executions that counted, of others, and those of live readers. */
  chunks = 0;
  earlierChunks = 0;
  liveChunks = 0;
  /** Live readers that received the end before the last chunk, because something was frozen for longer than the quiet time. */
  toldEarly = 0;
  /** Returned streams of SDK v5 that were cut by the end of their process. */
  cutByKill = 0;
  /** Those of them without an end, because no chunk was written. */
  unended = 0;
  /** The steps' records of their executions. */
  journal = [];
  executions = 0;
  cut = 0;
  doubled = 0;
  problems = [];
  /** Ends that the harness did not cause, and exit codes at the end. */
  ownEnds = [];
  codes = {};
  seconds = 0;

  problem(kind, run, what) {
    this.problems.push({ kind, run, what });
  }

  end() {
    this.seconds = Math.round((performance.now() - this.#began) / 1000);
    for (const { name, code, tail } of this.ownEnds) this.problem('check', undefined, `${name} ended by itself with ${code}:\n${tail}`);
    for (const [name, code] of Object.entries(this.codes)) if (code !== 0) this.problem('check', undefined, `${name} did not stop with 0: ${code}`);
  }

  get ok() {
    return this.problems.length === 0;
  }

  toString() {
    const of = (sdk) => this.runs.filter((run) => run.sdk === sdk).length;
    const others = this.runs.filter((run) => run.other).length;
    const broken = (kind) => new Set(this.problems.filter((p) => p.kind === kind).map((p) => p.run ?? p)).size;
    const list = (entries) => entries.map(([name, n]) => `${name} ${n}`).join(', ');
    const count = (name) =>
      Object.entries(this.faults)
        .filter(([fault]) => fault.startsWith(name))
        .reduce((sum, [, n]) => sum + n, 0);
    const { starts, resumes, chunks, reads } = this.lostByRedis;
    const lines = [
      `${this.runs.length} runs, ${count('')} faults, ${count('kill')} kills; lost ${broken('lost')}, stuck ${broken('stuck')}, failed ${broken('failed')}, doubled ${this.doubled}; other problems ${this.problems.filter(({ kind }) => !['lost', 'stuck', 'failed'].includes(kind)).length}`,
      `by Redis   lost ${starts} starts, ${resumes} resumes, ${chunks} chunks; ${reads} live readers had more than is there; ${this.orphans} keys of lost runs`,
      `runs       ${this.runs.length}: v4 ${of('v4')}, v5 ${of('v5')}; ${others} of them children or starts without an answer; ${this.unacknowledged} starts had none`,
      `faults     ${list(Object.entries(this.faults).sort())}`,
      `broken     ${list(KINDS.map((kind) => [kind, broken(kind)]))}`,
      `executions ${this.executions} of steps, ${this.cut} cut off or thrown, ${this.doubled} doubled`,
      `chunks     ${this.chunks} of last executions, ${this.earlierChunks} of others, ${this.liveChunks} read live; ${this.toldEarly} live readers told early; returned streams of v5 cut with their process: ${this.cutByKill} in the middle, ${this.unended} before the first chunk`,
      `seconds    ${this.seconds}`,
    ];
    for (const { kind, run, what } of this.problems.slice(0, TOLD)) {
      lines.push(`- ${kind}: ${run ? `${run.runId} (${run.sdk} ${run.workflow} ${JSON.stringify(run.args ?? 'other')}) ` : ''}${what}`);
      if (run?.events) lines.push(`    ${run.events.map(({ eventType, createdAt }) => `${eventType} ${new Date(createdAt).toISOString().slice(11, 23)}`).join(', ')}`);
    }
    if (this.problems.length > TOLD) lines.push(`- and ${this.problems.length - TOLD} more`);
    return lines.join('\n');
  }
}
