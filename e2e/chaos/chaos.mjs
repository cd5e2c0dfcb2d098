// @ts-check
// Real processes are killed and frozen while runs are in progress; afterwards every run is checked.
import { setTimeout as delay } from 'node:timers/promises';
import { checkQueueEmpty } from '../lib/invariants.mjs';
import { checkChildren, checkResumes, checkRuns, countExecutions } from './checks.mjs';
import { Faults } from './faults.mjs';
import { checkKeys } from './keys.mjs';
import { Load } from './load.mjs';
import { randomFrom } from './random.mjs';
import { Report } from './report.mjs';
import { Testbed } from './testbed.mjs';

/** Ten seconds per stream, frequent faults, and settings of the service near their defaults. */
export const LONG = {
  rate: 2,
  most: 60,
  pace: 1000,
  every: [3000, 6000],
  brief: [200, 3000],
  long: [15_000, 40_000],
  quiet: 60,
  recoveryAfter: 20,
  leases: 30,
  downAfter: 3000,
  patience: 300,
};

/** A shorter version, for a test. */
export const SHORT = {
  rate: 4,
  most: 30,
  pace: 250,
  every: [800, 1500],
  brief: [100, 800],
  long: [2500, 5000],
  quiet: 8,
  recoveryAfter: 5,
  leases: 10,
  downAfter: 1500,
  patience: 90,
};

/**
 * @typedef {object} Options
 * @property {number} seed  of all that is chosen
 * @property {number} seconds  with faults
 * @property {string} [mode]  the kind of Redis (modes.mjs)
 * @property {number} downAfter  milliseconds after which a silent Redis is replaced
 * @property {string} [durability]  WORKFLOW_WORLD_DURABILITY of the services; nothing that all replicas of a master confirm may be lost
 * @property {number} rate  runs that are started in a second
 * @property {number} most  runs that are open at a time
 * @property {number} pace  milliseconds between two chunks of a slow stream
 * @property {string[]} [ways]  what may happen, all that is possible unless it is given (faults.mjs)
 * @property {number[]} every  milliseconds between faults
 * @property {number[]} brief  how long faults last, in milliseconds: most of them
 * @property {number[]} long  and the others
 * @property {number} quiet  WORKFLOW_WORLD_STREAM_QUIET in seconds, longer than any fault
 * @property {number} recoveryAfter  in seconds: how soon what was cut off is taken up again
 * @property {number} leases  the same of steps
 * @property {number} patience  seconds for all runs to end once the faults are over
 * @property {(line: string) => void} [log]
 * @property {AbortSignal} [signal]  ends it early, with nothing left behind
 *
 * @param {Options} options
 */
export async function chaos({ quiet, recoveryAfter, leases, downAfter, durability, mode = 'standalone', log = () => {}, signal = new AbortController().signal, ...how }) {
  const report = new Report();
  const testbed = await Testbed.start({
    ...{ mode, downAfter, durability, log },
    serviceEnv: { WORKFLOW_WORLD_STREAM_QUIET: `${quiet}s`, WORKFLOW_WORLD_RECOVERY_AFTER: `${recoveryAfter}s` },
    appEnv: { WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS: String(leases) },
  });
  try {
    await withFaults(testbed, report, { log, signal, ...how });
    for (const part of testbed.parts) report.ownEnds.push(...part.ownEnds);
  } catch (error) {
    await testbed.kill();
    throw error;
  }
  report.codes = await testbed.stop();
  report.end();
  return report;
}

/** @type {(testbed: Testbed, report: Report, how: any) => Promise<void>} */
async function withFaults(testbed, report, { seed, seconds, rate, most, pace, ways, every, brief, long, patience, log, signal }) {
  const load = new Load(testbed, randomFrom(seed));
  const faults = new Faults(testbed.parts, randomFrom(seed ^ 0x5eed), log, ways);
  const over = AbortSignal.any([AbortSignal.timeout(seconds * 1000), signal]);
  const late = new AbortController();
  const gaveUp = AbortSignal.any([late.signal, signal]);

  const progress = setInterval(() => log(`${load.runs.length} runs started, ${load.open} open`), 30_000);
  await Promise.all([load.start({ rate, most, pace, signal: over, patience: gaveUp }), faults.run({ every, brief, long, signal: over })]);
  clearInterval(progress);
  signal.throwIfAborted();
  log(`faults are over, ${load.open} runs are open`);

  await Promise.race([load.settled(), delay(patience * 1000, undefined, { signal, ref: false })]);
  report.faults = faults.counts;
  report.unacknowledged = load.unacknowledged;
  const runs = await withOthers(testbed, load, Date.now() + patience * 1000, signal);
  log(`looking at ${runs.length} runs`);
  report.runs = runs;
  report.journal = await testbed.journal();
  await checkRuns(testbed, runs, report);
  checkResumes(testbed, load.lostResumes, report);
  checkChildren(testbed, report);
  late.abort();
  await checkQueueEmpty({ api: testbed.apis[0], redis: testbed.redis, timeout: patience * 1000 }).catch((error) => {
    report.problem('queue', undefined, `${error.message}: ${error.cause?.message}`);
  });
  await checkKeys(testbed, runs, report);
  Object.assign(report, countExecutions(report.journal));
}

/**
 * All runs, once none of them is in progress: those whose start was acknowledged, and others, which are children and starts whose answer was
 * lost. Until then it resumes hooks that nothing else resumes.
 */
async function withOthers(testbed, load, deadline, signal) {
  const [api] = testbed.apis;
  const { runs } = load;
  const known = new Map(runs.map((run) => [run.runId, run]));
  for (;;) {
    const under = [...(await api.runs('pending')), ...(await api.runs('running'))];
    if (under.length === 0 || Date.now() > deadline) break;
    for (const { runId, deploymentId } of under) {
      const run = known.get(runId);
      if (run?.settledAt) await load.resumeAgain(run, AbortSignal.any([signal, AbortSignal.timeout(10_000)]));
      if (run) continue;
      for (const { token } of await api.hooks(runId)) await testbed.apps[deploymentId].resume(token, 1).catch(() => {});
    }
    await delay(1000, undefined, { signal });
  }
  const others = (await api.runs()).filter(({ runId }) => !known.has(runId));
  return [...runs, ...others.map(otherRun)];
}

function otherRun({ runId, deploymentId, workflowName }) {
  const workflow = workflowName.split('//').at(-1);
  return { runId, sdk: deploymentId, workflow, other: true, fails: workflow === 'chaosFails' };
}
