/** SDK v5: what a step gets as an argument is written outside of its context, and the steps' inputs tell whose it may be. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createWorld } from './helpers/client.js';
import { type Answer, Fake, json } from './helpers/fake.js';
import { asStep } from './helpers/step.js';

// This process has SDK v5.
Object.assign(globalThis, { [Symbol.for('@workflow/world//getWorldFn')]: () => undefined });

let fake: Fake;
before(async () => void (fake = await Fake.start(json(200, {}))));
after(async () => {
  await createWorld({ url: fake.url }).close();
  await fake.stop();
});

type World = ReturnType<typeof createWorld>;

let deliveries = 0;
/** Runs `handler` as SDK v5 runs a delivery. */
async function deliver(handler: (world: World) => Promise<void>): Promise<void> {
  const world = createWorld({ url: fake.url });
  const headers = { 'content-type': 'application/json', 'x-vqs-queue-name': '__wkf_workflow_w', 'x-vqs-message-id': `m${++deliveries}`, 'x-vqs-message-attempt': '1' };
  const request = new Request('http://app/flow', { method: 'POST', headers, body: '{}' });
  const answer = await world.createQueueHandler('__wkf_workflow_', () => handler(world))(request);
  assert.equal(answer.status, 200, await answer.text());
}

/** The input of a step that has streams among its arguments, as the SDK writes it. */
const inputWith = (...names: string[]) => Buffer.from(`devl${JSON.stringify([names])}`);
const asJson = (bytes: Uint8Array) => ({ __type: 'Uint8Array', data: Buffer.from(bytes).toString('base64') });
const started = (stepId: string, eventData = {}) => ({ eventType: 'step_started', specVersion: 7, correlationId: stepId, eventData });
const startedAnswer = (attempt: number, input?: Uint8Array): Answer => json(200, { step: { attempt, ...(input && { input: asJson(input) }) } });

/** Starts a step that is there. */
async function start(world: World, stepId: string, attempt: number, input: Uint8Array) {
  fake.next(startedAnswer(attempt, input));
  await world.events.create('wrun_1', started(stepId));
}

const open = (world: World, name: string) => world.streams.createWriteSession('wrun_1', name, { writerId: 'w' });

/** What a call says of the writer of a chunk. */
async function writerOf(write: () => Promise<void>): Promise<string> {
  const from = fake.seen.length;
  await write();
  const calls = fake.seen.slice(from).filter(({ url }) => url.includes('/streams/'));
  assert.equal(calls.length, 1);
  const headers = calls[0]?.headers;
  const steps = headers?.['x-stream-steps'];
  const { 'x-stream-step': step, 'x-stream-attempt': attempt } = headers ?? {};
  assert.equal(step !== undefined && steps !== undefined, false);
  return String(steps ?? (step === undefined ? 'none' : `${step} ${attempt}`));
}

test('a session belongs to the step that has its stream among its arguments, even after the end of that step', async () => {
  let late: ReturnType<typeof open> | undefined;
  await deliver(async (world) => {
    await start(world, 'step_1', 3, inputWith('s', 'strm_long'));
    await start(world, 'step_2', 1, inputWith('other'));
    late = open(world, 's');
    assert.equal(await writerOf(() => open(world, 'strm_long').write(0, ['x'])), 'step_1 3');
    assert.equal(await writerOf(() => open(world, 'strm').write(0, ['x'])), 'none', 'a part of a name is none');
    assert.equal(await writerOf(() => world.streams.write('wrun_1', 'other', 'x')), 'step_2 1');
    assert.equal(await writerOf(() => world.streams.close('wrun_1', 'other')), 'step_2 1');
    assert.equal(await asStep('wrun_1', 'step_9', 9, () => writerOf(() => open(world, 's').close())), 'step_9 9', 'the SDK knows better');
    await world.events.create('wrun_1', { eventType: 'step_completed', specVersion: 7, correlationId: 'step_1' });
    assert.equal(await writerOf(() => open(world, 's').close()), 'none');
  });
  await deliver(async (world) => {
    assert.equal(await writerOf(() => open(world, 's').write(0, ['x'])), 'none', 'another delivery');
    await start(world, 'step_1', 4, inputWith('s'));
    assert.equal(await writerOf(() => open(world, 's').write(0, ['x'])), 'step_1 4');
  });
  assert.equal(await writerOf(() => late?.write(0, ['x']) as Promise<void>), 'step_1 3');
  assert.equal(await writerOf(() => late?.close() as Promise<void>), 'step_1 3');
});

test('if several steps hold a stream, all of them are named; if there are too many, none is', async () => {
  await deliver(async (world) => {
    for (let i = 1; i <= 17; i++) {
      await start(world, `step_${i}`, i, inputWith('s', ...(i <= 2 ? ['two'] : []), ...(i <= 16 ? ['sixteen'] : [])));
    }
    assert.equal(await writerOf(() => open(world, 'two').write(0, ['x'])), 'step_1 1, step_2 2');
    assert.equal((await writerOf(() => open(world, 'sixteen').close())).split(', ').length, 16);
    assert.equal(await writerOf(() => open(world, 's').close()), 'none');
  });
});

test('the first steps of a run are run during its start, and recorded afterwards', async () => {
  await deliver(async (world) => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    fake.next((response, seen) => void held.then(() => json(200, { run: { runId: 'wrun_1' } })(response, seen)));
    const run = world.events.create('wrun_1', { eventType: 'run_started', specVersion: 7 });
    const step = run.then(() => world.events.create('wrun_1', started('step_1', { input: inputWith('s') })));
    const session = open(world, 's');
    const writer = writerOf(() => session.write(0, ['x']));
    await nextTurn();
    release();
    assert.equal(await writer, 'step_1 1');
    await step;
    assert.equal(await writerOf(() => session.close()), 'step_1 1');
  });
});

test('a step that is started with its input, alone or in a batch, is known before the answer and after it', async () => {
  await deliver(async (world) => {
    const start = world.events.create('wrun_1', started('step_1', { input: inputWith('s') }));
    assert.equal(await writerOf(() => open(world, 's').write(0, ['x'])), 'step_1 1');
    await start;
    fake.next(json(200, { results: [{ step: { attempt: 0 } }, { step: { attempt: 1 } }] }));
    const created = { eventType: 'step_created', specVersion: 7, correlationId: 'step_2', eventData: { input: inputWith('batch') } };
    await world.events.createBatch('wrun_1', [{ event: created }, { event: started('step_2') }], {});
    assert.equal(await writerOf(() => open(world, 'batch').write(0, ['x'])), 'step_2 1');
  });
});

test("a compressed input is searched; an input that is not the SDK's, or damaged, yields nothing", async () => {
  await deliver(async (world) => {
    await start(world, 'step_1', 1, Buffer.concat([Buffer.from('gzip'), gzipSync(inputWith('packed'))]));
    assert.equal(await writerOf(() => open(world, 'packed').write(0, ['x'])), 'step_1 1');
    await start(world, 'step_2', 1, Buffer.concat([Buffer.from('gzip'), inputWith('broken')]));
    await start(world, 'step_3', 1, Buffer.from('encr"hidden'));
    fake.next(json(200, { step: { attempt: 1, input: ['plain'] } }));
    await world.events.create('wrun_1', started('step_4'));
    for (const name of ['broken', 'hidden', 'plain']) assert.equal(await writerOf(() => open(world, name).write(0, ['x'])), 'none', name);
  });
});
