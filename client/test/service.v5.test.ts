/** What SDK v5 calls beyond v4, on the real service. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { App } from './helpers/app.js';
import { createWorld } from './helpers/client.js';
import { newRunId, newStepId, ulid } from './helpers/ids.js';
import { Service } from './helpers/service.js';
import { asStep } from './helpers/step.js';

const V5_MARK = Symbol.for('@workflow/world//getWorldFn');

let service: Service;
let world: RedisWorld;
before(async () => {
  service = await Service.start();
  world = createWorld({ url: service.url });
});
after(async () => {
  await world.close();
  await service.stop();
});

const input = new Uint8Array([1]);

async function newRun(eventData: Record<string, unknown> = {}): Promise<string> {
  const runId = newRunId();
  await world.events.create(runId, {
    eventType: 'run_created',
    specVersion: 7,
    eventData: { deploymentId: 'd', workflowName: 'w', input, ...eventData },
  });
  return runId;
}

const end = (runId: string) => world.events.create(runId, { eventType: 'run_completed', specVersion: 7, eventData: { output: input } });

test('runs are fetched together, in their order, with null for one that does not exist', async () => {
  const [a, b] = [await newRun(), await newRun()];
  const runs = await world.runs.getMany([b, newRunId(), a], { resolveData: 'none' });
  assert.deepEqual(
    runs.map((run) => run?.runId ?? run),
    [b, null, a],
  );
  assert.ok(runs[0].createdAt instanceof Date);
  assert.equal(runs[0].input, undefined);
  assert.deepEqual(await world.runs.getMany([]), []);
});

test('each of several runs is fetched once, and returned for each of its ids; those that do not fit into an answer are fetched again', async () => {
  const large = new Uint8Array(3 << 20).fill(7);
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await newRun({ input: large }));
  const missing = newRunId();
  const asked = [ids[0], ...ids, missing, ids[4], missing] as string[];
  const runs = await world.runs.getMany(asked);
  assert.deepEqual(
    runs.map((run) => run?.runId ?? run),
    asked.map((id) => (id === missing ? null : id)),
  );
  for (const run of runs) if (run) assert.equal(Buffer.compare(run.input, large), 0);
  const many = await world.runs.getMany([...Array.from({ length: 1001 }, newRunId), asked[0] as string]);
  assert.equal(many.length, 1002);
  assert.equal(many[1001].runId, asked[0]);
  const { results } = await world.runs.cancelMany({ runIds: [asked[0], missing, asked[0]] as string[] });
  assert.deepEqual(results, [
    { runId: asked[0], outcome: 'cancelled' },
    { runId: missing, outcome: 'not_found' },
    { runId: asked[0], outcome: 'cancelled' },
  ]);
});

test('a wait answers as soon as the run ends', async () => {
  const runId = await newRun();
  const waiting = world.runs.waitForTerminalStatus(runId, { timeoutMs: 20_000 });
  await end(runId);
  const run = await waiting;
  assert.equal(run.status, 'completed');
  assert.deepEqual(run.output, input);
  assert.ok(run.completedAt instanceof Date);
});

test('a wait returns the run as it is: without a timeout, after it, and when it is aborted', async () => {
  const runId = await newRun();
  assert.equal((await world.runs.waitForTerminalStatus(runId)).status, 'pending');
  assert.equal((await world.runs.waitForTerminalStatus(runId, { timeoutMs: 30 })).status, 'pending');
  const patience = new AbortController();
  const waiting = world.runs.waitForTerminalStatus(runId, { timeoutMs: 50_000, signal: patience.signal });
  patience.abort();
  assert.equal((await waiting).status, 'pending');
  const missing = newRunId();
  await assert.rejects(world.runs.waitForTerminalStatus(missing, { timeoutMs: 50_000 }), {
    name: 'WorkflowRunNotFoundError',
    runId: missing,
  });
});

test('many are cancelled, each with its own outcome', async () => {
  const [open, over, missing] = [await newRun(), await newRun(), newRunId()];
  await end(over);
  const { summary, results } = await world.runs.cancelMany({ runIds: [open, over, missing], cancelReason: 'enough' });
  assert.deepEqual(summary, { requested: 3, cancelled: 1, alreadyCancelled: 0, notCancellable: 1, notFound: 1, failed: 0 });
  assert.deepEqual(results, [
    { runId: open, outcome: 'cancelled' },
    { runId: over, outcome: 'not_cancellable', status: 'completed' },
    { runId: missing, outcome: 'not_found' },
  ]);
});

test('attributes are set and deleted; an invalid one is an AttributeValidationError', async () => {
  const runId = await newRun({ attributes: { a: '1', b: '2' } });
  const changes = [
    { key: 'a', value: null },
    { key: 'c', value: '3' },
  ];
  assert.deepEqual(await world.runs.experimentalSetAttributes(runId, changes), { attributes: { b: '2', c: '3' } });
  assert.deepEqual((await world.runs.get(runId)).attributes, { b: '2', c: '3' });
  const { data } = await world.events.list({ runId });
  assert.deepEqual(data.at(-1).eventData.changes, changes);
  await assert.rejects(world.runs.experimentalSetAttributes(runId, [{ key: '$x', value: '1' }]), {
    name: 'AttributeValidationError',
  });
});

test('a batch: valid events are applied, and every event has its own answer', async () => {
  const runId = await newRun();
  await world.events.create(runId, { eventType: 'run_started', specVersion: 7 });
  const [a, b] = [newStepId(), newStepId()];
  const create = (correlationId: string) => ({
    event: { eventType: 'step_created', specVersion: 7, correlationId, eventData: { stepName: 's', input } },
  });
  await world.events.createBatch(runId, [create(a)]);
  const { results } = await world.events.createBatch(runId, [
    create(a),
    create(b),
    { event: { eventType: 'step_started', specVersion: 7, correlationId: b, eventData: { stepName: 's' } } },
  ]);
  assert.deepEqual(
    results.map((r) => [r.status, r.error, r.step?.stepId, r.step?.attempt]),
    [
      [409, 'conflict', undefined, undefined],
      [200, undefined, b, 0],
      [200, undefined, b, 1],
    ],
  );
  assert.ok(results[2].event.createdAt instanceof Date);
  assert.ok(results[2].step.startedAt instanceof Date);
});

test("a writer's session stores every chunk once, even if it is sent repeatedly or late", async () => {
  const [name, runId] = [`strm_${ulid()}_user`, newRunId()];
  const session = world.streams.createWriteSession(runId, name, { writerId: `wrtr_${ulid()}` });
  await session.write(0, ['a', 'b']);
  await session.write(0, ['a', 'b']);
  await session.write(1, ['b', 'c']);
  await session.write(2, ['c']);
  await session.close();
  const { data, done } = await world.streams.getChunks(runId, name);
  assert.deepEqual(data.map((chunk) => Buffer.from(chunk.data).toString()).join(' '), 'a b c');
  assert.equal(done, true);
});

test('an error of a stream is a StreamError for v5, and unchanged for v4', async () => {
  const nobody = createWorld({ url: 'http://127.0.0.1:1', retryForMs: 0, streamRetryForMs: 0 });
  await assert.rejects(nobody.streams.write('wrun_1', 's', 'x'), { name: 'StreamError', code: 'STREAM_ERROR' });
  const session = asStep('wrun_1', 'step_1', 1, () => nobody.streams.createWriteSession('wrun_1', 's', { writerId: 'wrtr_1' }));
  await assert.rejects(session.write(0, ['x']), { name: 'StreamError' });
  await assert.rejects(nobody.writeToStream('s', 'wrun_1', 'x'), { name: 'WorkflowWorldError', code: 'TRANSPORT' });
  await nobody.close();
});

test('the log without a limit is complete, even if it has several pages', async () => {
  const runId = await newRun();
  const big = new Uint8Array(3 * 1024 * 1024);
  for (let i = 0; i < 4; i++) {
    const event = { eventType: 'step_created', specVersion: 7, correlationId: newStepId(), eventData: { stepName: 's', input: big } };
    await world.events.create(runId, event);
  }
  const all = await world.events.list({ runId });
  assert.deepEqual([all.data.length, all.hasMore], [5, false]);
  const first = await world.events.list({ runId, pagination: { limit: 2 } });
  assert.deepEqual([first.data.length, first.hasMore], [2, true]);
});

test('a message of v5 reaches the app as JSON, with its bytes as bytes', async () => {
  const globals = globalThis as Record<symbol, unknown>;
  globals[V5_MARK] = () => undefined;
  const app = await App.start(world);
  try {
    const sender = createWorld({ url: service.url, deploymentId: 'dpl_json', baseUrl: app.url });
    const message = { runId: newRunId(), requestedAt: new Date(1700000000123), runInput: { input } };
    await sender.queue('__wkf_workflow_w', message);
    const [delivered] = await app.deliveries(1);
    assert.deepEqual(delivered?.message, { ...message, requestedAt: '2023-11-14T22:13:20.123Z' });
  } finally {
    delete globals[V5_MARK];
    await app.stop();
  }
});
