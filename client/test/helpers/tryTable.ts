/** Tries the cells of a table of events on the real service, and says which are not as the table has them. */
import assert from 'node:assert/strict';
import type { RedisWorld } from '../../build/index.js';
import { type Answer, type Rows, readCell, type Table } from '../tables/outcome.js';
import { eventOf } from './events.js';
import type { Answered, Exchange, Recorder } from './recorder.js';
import { RUN_STATES, type RunState, type Scene, setScene } from './scene.js';
import { recognised, type Spec, sdkOf } from './sdk.js';

/** Cells that are tried at a time: each has runs of its own. */
const AT_ONCE = 16;

export interface Cell {
  kind: string;
  run: RunState;
  entity: string;
  expected: string;
}

/** The cells of one SDK; it is an error of the table when one is missing. */
export function cellsOf({ columns, kinds }: Table, spec: Spec): Cell[] {
  const sdk = sdkOf(spec);
  return kinds.filter(({ only = sdk }) => only === sdk).flatMap((rows) => RUN_STATES.flatMap((run) => rowCells(rows, run, sdk, run === 'missing' ? ['missing'] : columns)));
}

function rowCells({ event, rows }: Rows, run: RunState, sdk: string, columns: string[]): Cell[] {
  const group = run === 'pending' || run === 'running' ? 'open' : 'ended';
  const row = rows[`${run}`] ?? rows[group] ?? rows[`${group}, ${sdk}`];
  assert.equal(row?.length, columns.length, `the row of ${event} on a ${run} run (${sdk})`);
  return columns.map((entity, i) => ({ kind: event, run, entity, expected: row?.[i] as string }));
}

export interface Stage {
  spec: Spec;
  /** Talks to the service itself. */
  direct: RedisWorld;
  /** Talks through the recorder. */
  recorded: RedisWorld;
  recorder: Recorder;
}

/** Tries all cells; every one that is not as it should be gives a line. */
export async function tryCells(stage: Stage, cells: Cell[]): Promise<string[]> {
  const wrong: string[] = [];
  const left = [...cells];
  const worker = async () => {
    for (let cell = left.shift(); cell; cell = left.shift()) {
      try {
        await tryCell(stage, cell);
      } catch (error) {
        wrong.push(`${cell.kind}, run ${cell.run}, entity ${cell.entity}, "${cell.expected}": ${(error as Error).message}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return wrong;
}

async function tryCell(stage: Stage, { kind, run, entity, expected }: Cell): Promise<void> {
  const event = eventOf(kind, stage.spec, { id: '' });
  const scene = await setScene(stage.direct, stage.spec, event.eventType.split('_')[0] as string, run, entity);
  const [first, repeat] = readCell(expected, event.eventType);

  scene.log = await logOf(stage, scene.runId);
  await tryCall(stage, kind, scene, first, 'the call');
  const exchange = stage.recorder.last(scene.runId);
  await tryAgain(stage, scene, exchange, 'the same request again');
  await tryCall(stage, kind, scene, repeat, 'the repeat by another caller');
  await tryAgain(stage, scene, exchange, 'the first request, late');
}

/** One call: its answer, and what it leaves in the log. */
async function tryCall(stage: Stage, kind: string, scene: Scene, expected: Answer, what: string): Promise<void> {
  const { runId, about, log: before } = scene;
  const event = eventOf(kind, stage.spec, about);
  let result: any;
  let error: any;
  try {
    result = await stage.recorded.events.create(runId, event, { v1Compat: false });
  } catch (caught) {
    error = caught;
  }
  const exchange = stage.recorder.last(runId);
  const { status } = exchange;
  assertAlike(exchange.twin as Answered, exchange, `${what}, sent twice at once`);
  const log = await logOf(stage, runId);
  scene.log = log;
  if ('refusal' in expected) {
    const { name, fields, message, status: wanted } = expected.refusal;
    assert.deepEqual([error?.name ?? describe(result), status], [name, wanted], `${what}: ${error?.message ?? 'was taken'}`);
    for (const [field, value] of Object.entries(fields(runId, about.id))) assert.equal(error[field], value, `${what}: ${field}`);
    if (message) assert.equal(error.message, message(runId, about.id), what);
    if (name === 'TooEarlyError') assert.ok(error.retryAfter >= 3590 && error.retryAfter <= 3600, `${what}: after ${error.retryAfter} s`);
    const names = name === 'AttributeValidationError' ? [] : [name]; // the SDK has no class for it
    assert.deepEqual(await recognised(error), { v4: names, v5: names }, `${what}: the SDK's .is()`);
    assert.deepEqual(log, before, `${what}: a refusal is in the log`);
    return;
  }
  assert.equal(error, undefined, `${what}: ${error?.name} ${error?.message}`);
  const { entity, events } = expected.success;
  assert.deepEqual([status, describe(result)], [200, entity], what);
  assert.deepEqual(log.slice(0, before.length), before, `${what}: the log's past has changed`);
  assert.deepEqual(typesOf(log.slice(before.length)), events, `${what}: new events`);
  checkIds(log, stage.spec);
  if (events.length > 0) assert.deepEqual(result.event, log.at(-1), `${what}: the event`);
  else if (result.event)
    assert.ok(
      log.some(({ eventId }) => eventId === result.event.eventId),
      `${what}: an event that is not in the log`,
    );
  if (event.correlationId && result.event) assert.equal(result.event.correlationId, event.correlationId, what);
}

/** The request of before, sent once more: the same answer, and the log as it was. */
async function tryAgain(stage: Stage, { runId, log }: Scene, exchange: Exchange, what: string): Promise<void> {
  assertAlike(await exchange.again(), exchange, what);
  assert.deepEqual(await logOf(stage, runId), log, `${what}: it has an effect of its own`);
}

/** Two answers to one request: the same refusal, or the same event and the same kinds of entities (which may have moved on). */
function assertAlike(actual: Answered, expected: Answered, what: string): void {
  assert.equal(actual.status, expected.status, `${what}: ${JSON.stringify(actual.answer?.error ?? expected.answer?.error)}`);
  assert.deepEqual(actual.answer.error?.name, expected.answer.error?.name, what);
  assert.deepEqual(actual.answer.event, expected.answer.event, `${what}: the event`);
  for (const entity of ['run', 'step', 'hook', 'wait']) {
    assert.equal(typeof actual.answer[entity], typeof expected.answer[entity], `${what}: the ${entity}`);
  }
}

async function logOf({ direct }: Stage, runId: string): Promise<any[]> {
  return (await direct.events.list({ runId })).data;
}

const typesOf = (log: any[]) => log.map(({ eventType }) => eventType as string);

/** What the table calls an answer. */
function describe({ event, run, step, hook, wait }: any): string {
  if (event?.eventType === 'hook_conflict') return hook ? 'hook conflict with a hook' : 'hook conflict';
  if (step) return `step ${step.status} #${step.attempt}`;
  if (hook) return 'hook';
  if (wait) return `wait ${wait.status}`;
  if (run) return `run ${run.status}`;
  return event ? 'event' : 'nothing';
}

/** Positions without a gap from spec 6 on, rising ids before (contract §0). */
function checkIds(log: any[], spec: Spec): void {
  const ids = log.map(({ eventId }) => eventId as string);
  if (spec < 6) assert.deepEqual(ids, [...new Set(ids)].sort(), 'the ids do not rise');
  else
    assert.deepEqual(
      ids,
      ids.map((_, i) => `evnt_${String(i + 1).padStart(26, '0')}`),
      'the positions have gaps',
    );
}
