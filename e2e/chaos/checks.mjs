// @ts-check
// What must hold for every run once all faults are over.
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { checkEndedRun } from '../lib/invariants.mjs';
import { storedParts, streamOf } from '../lib/liveReader.mjs';

const AT_ONCE = 8;
const SDK_PATIENCE = 90_000;
const RETURNED_PATIENCE = 45_000;
/** The longest duration of a resume, including its repeats. */
const RESUME_TIME = 60_000;

/** Checks each run. Problems are added to `report.problems` by their kind, and figures to `report`. */
export async function checkRuns(testbed, runs, report) {
  const left = [...runs];
  const worker = async () => {
    for (let run; (run = left.pop()); ) await checkRun(testbed, run, report);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function checkRun(testbed, run, report) {
  const problem = (kind, what) => report.problem(kind, run, what);
  const [api] = testbed.apis;
  const found = await testbed.get(`/v1/runs/${run.runId}`);
  if (!found) {
    run.lostByRedis = testbed.mayLose(run.begunAt, run.ackedAt);
    return run.lostByRedis ? report.lostByRedis.starts++ : problem('lost', 'an acknowledged run is not there');
  }
  run.status = found.status;
  if (found.status === 'pending' || found.status === 'running') return problem('stuck', `is ${found.status}; ${await stateOf(testbed, run)}`);
  try {
    run.events = await checkEndedRun(api, run.runId);
  } catch (error) {
    problem('invariant', error.message);
  }
  if (run.fails) {
    if (found.status !== 'failed') problem('wrong', `is ${found.status} and was meant to fail`);
    return;
  }
  if (found.status !== 'completed') return problem('failed', `${found.status}: ${JSON.stringify(found.errorCode ?? null)} ${await errorOf(testbed, run)}`);
  try {
    if (run.workflow === 'chaosWrites') await checkWritten(testbed, run, report);
    else if (run.workflow === 'chaosReturns') await checkReturned(testbed, run, report);
    else await checkValue(testbed, run, report);
  } catch (error) {
    problem('check', error.stack);
  }
}

/** The end of a stuck run's log, and its hooks and messages: after the trial, its Redis is gone. */
async function stateOf(testbed, run) {
  const { runId } = run;
  const ask = (path) => testbed.get(path, AbortSignal.timeout(10_000)).catch((error) => ({ data: [error.message] }));
  const [events, hooks, messages] = await Promise.all([
    ask(`/v1/runs/${runId}/events?sortOrder=desc&limit=5&resolveData=none`),
    ask(`/v1/hooks?runId=${runId}`),
    ask(`/v1/runs/${runId}/messages`),
  ]);
  const last = events?.data.map((event) => `${event.eventType ?? event} ${event.correlationId ?? ''} ${event.createdAt ?? ''}`.trim());
  return `its last events, newest first: ${JSON.stringify(last)}; hooks ${hooks?.data.length}; messages ${JSON.stringify(messages)}; ${await listsOf(testbed, runId)}; resumed at ${run.resumedAt}, last refusal of a resume ${run.refused}, settled at ${run.settledAt}`;
}

/** Whether recovery can find a run: its marks, and the lists that it is in. */
async function listsOf(testbed, runId) {
  const ask = (...words) => testbed.redis.command(...words).catch((error) => error.message);
  const marks = await ask('HMGET', `workflow:run:{${runId}}`, 'rs', 'en', 'et');
  const lists = [];
  for (const list of ['watch', 'by_status:pending', 'by_status:running', 'index']) lists.push(`${list} ${await ask('ZSCORE', `workflow:runs:${list}`, runId)}`);
  return `rs, en, et ${JSON.stringify(marks)}; lists: ${lists.join(', ')}`;
}

async function errorOf(testbed, run) {
  const outcome = await testbed.apps[run.sdk].outcome(run.runId).catch((error) => ({ error }));
  return outcome.error?.message ?? '';
}

async function checkValue(testbed, run, report) {
  const { value } = await testbed.apps[run.sdk].outcome(run.runId);
  if (run.value !== undefined && value !== run.value) report.problem('wrong', run, `returned ${JSON.stringify(value)} instead of ${run.value}`);
}

/** Every chunk of the executions whose results counted is stored once, in order; the live readers got the same chunks. */
async function checkWritten(testbed, run, report) {
  const app = testbed.apps[run.sdk];
  const { value: written } = await app.outcome(run.runId);
  const plans = (run.plans ?? written).map(({ count, namespace }) => [count, namespace ?? null]);
  if (
    !isDeepStrictEqual(
      written.map(({ count, namespace }) => [count, namespace ?? null]),
      plans,
    )
  ) {
    return report.problem('wrong', run, `returned ${JSON.stringify(written)}`);
  }
  for (const namespace of new Set(written.map((w) => w.namespace))) {
    const name = streamOf(run.runId, namespace);
    const { parts } = await storedParts(testbed.apis[0], name);
    const values = [];
    for (const { start, chunks } of parts) {
      const part = await app.values(run.runId, SDK_PATIENCE, { namespace, startIndex: start });
      if (part.length !== chunks.length) report.problem('chunks', run, `the SDK reads ${part.length} of ${chunks.length} chunks of ${name} from ${start} on`);
      values.push(...part);
    }
    // The SDK's readers have waited for the end.
    const { done } = await testbed.apis[0].get(`/v1/streams/${name}/info`);
    if (!done) report.problem('chunks', run, `${name} is not done`);
    const here = written.filter((w) => w.namespace === namespace);
    for (const { step, execution, attempt, count } of here) {
      const numbers = values.filter((v) => v.step === step && v.execution === execution).map((v) => v.n);
      report.chunks += numbers.length;
      if (!isDeepStrictEqual(numbers, numbersTo(count)) && !lostByRedis(testbed, run, numbers, count, report)) {
        const lengths = parts.map(({ chunks }) => chunks.length).join(' + ');
        report.problem('chunks', run, `${step} attempt ${attempt} wrote 0…${count - 1} to "${namespace ?? ''}", stored is ${JSON.stringify(numbers)} among ${lengths}`);
      }
    }
    report.earlierChunks += values.filter((v) => !here.some((w) => w.execution === v.execution)).length;
    await checkLive(testbed, run, name, parts[0].chunks, report);
  }
}

/** Whether missing chunks, and nothing else, can be what a new master did not have. */
function lostByRedis(testbed, run, numbers, count, report) {
  const inOrder = numbers.every((n, i) => n < count && (i === 0 || numbers[i - 1] < n));
  if (!inOrder || !mayHaveLost(testbed, run)) return false;
  report.lostByRedis.chunks += count - numbers.length;
  return true;
}

const mayHaveLost = (testbed, run) => testbed.mayLose(run.begunAt ?? 0, (run.settledAt ?? Date.now()) + writtenAfter(run));

/** How many milliseconds after its run's end a returned stream may still be written. */
const writtenAfter = ({ workflow, args }) => (workflow === 'chaosReturns' && args ? 2 * args[0] * args[1] : 0);

/** A reader that was connected from the beginning has everything before the first end. */
async function checkLive(testbed, run, name, stored, report) {
  if (!run.live?.has(name)) return;
  const { chunks, ended } = await Promise.race([run.live.get(name), delay(SDK_PATIENCE, { chunks: [], ended: false }, { ref: false })]);
  run.live.delete(name);
  if (!ended) return report.problem('reader', run, `a live reader of ${name} is not told that it is done`);
  const differs = chunks.findIndex((chunk, i) => !stored[i]?.equals(chunk));
  // A failover may have lost chunks that it received, and other chunks may have taken their place.
  if (differs >= 0 && mayHaveLost(testbed, run)) return report.lostByRedis.reads++;
  if (differs >= 0) return report.problem('reader', run, `a live reader of ${name} got another chunk ${differs} than is stored`);
  report.liveChunks += chunks.length;
  if (chunks.length < stored.length) report.toldEarly++;
}

/** A returned stream is complete. SDK v5 writes it after the step's end, so missing chunks may be due to the end of its process. */
async function checkReturned(testbed, run, report) {
  const completed = run.events?.find((e) => e.eventType === 'step_completed');
  const last = report.journal.findLast(({ what, step }) => what === 'begins' && step === completed?.correlationId);
  const killed = testbed.parts.flatMap((part) => part.kills).some((kill) => kill.pid === last?.pid && kill.at >= completed.createdAt - 1000);
  const excused = run.sdk === 'v5' && killed;
  let returned;
  try {
    returned = await testbed.apps[run.sdk].returned(run.runId, RETURNED_PATIENCE);
  } catch (error) {
    if (!(excused || mayHaveLost(testbed, run)) || error.name !== 'TimeoutError') throw error;
    report.unended++; // no chunk was written, so the stream's run is unknown
    return;
  }
  const { step, execution, count, stream } = returned;
  const numbers = stream.map((chunk) => chunk.n);
  report.chunks += numbers.length;
  if (stream.some((chunk) => chunk.execution !== execution)) return report.problem('chunks', run, `${step} returned the stream of another execution`);
  if (isDeepStrictEqual(numbers, numbersTo(count))) return;
  if (excused && isDeepStrictEqual(numbers, numbersTo(numbers.length))) report.cutByKill++;
  else if (!lostByRedis(testbed, run, numbers, count, report))
    report.problem('chunks', run, `${step} returned 0…${count - 1}, read is ${JSON.stringify(numbers)}${killed ? ', its process was killed' : ''}`);
}

const numbersTo = (count) => Array.from({ length: count }, (_, i) => i);

/** Every acknowledged resume is in the log. */
export function checkResumes(testbed, lost, report) {
  for (const { run, at } of lost) {
    if (testbed.mayLose(at - RESUME_TIME, at)) report.lostByRedis.resumes++;
    else report.problem('lost', run, 'an acknowledged resume is not in the log');
  }
}

/** The runs that steps started, and whose start was acknowledged to them, exist. */
export function checkChildren(testbed, report) {
  for (const { what, step, execution, attempt } of report.journal) {
    if (what !== 'lost') continue;
    if (testbed.mayLose(0, Date.now())) report.lostByRedis.starts++;
    else report.problem('lost', undefined, `the child ${execution}, started by ${step}, attempt ${attempt}, is not there`);
  }
}

/** Counts executions of steps, interrupted executions, and ends of a step after its first. */
export function countExecutions(journal) {
  const ends = new Map();
  for (const { what, step } of journal) if (what === 'ends') ends.set(step, (ends.get(step) ?? 0) + 1);
  const count = (kind) => journal.filter(({ what }) => what === kind).length;
  const [executions, ended] = [count('begins'), count('ends')];
  return { executions, cut: executions - ended, doubled: ended - ends.size };
}
