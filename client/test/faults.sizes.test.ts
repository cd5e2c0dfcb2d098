/** BR-37, big payloads: they go both ways whole up to one documented limit, and above it nothing is written at all. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { eventOf } from './helpers/events.js';
import { newHookId, newRunId, newStepId, ulid } from './helpers/ids.js';
import { Real, typesOf } from './helpers/real.js';
import { isRetryable, refused } from './helpers/refused.js';

const LIMIT = 64 * 1024 * 1024; // WORKFLOW_WORLD_MAX_BODY as it is without a setting
const SIZES = { '64 KB': 64_000, '1 MB': 1_000_000, '4.5 MB': 4_500_000, '8 MB': 8_000_000 };
/** Tried in two places only, for they take their time; the way is the same for all. */
const LARGE_SIZES = { '32 MB': 32_000_000, '64 MB': 64_000_000 };

/** Bytes that do not repeat within a page of memory, so that a piece out of place is noticed. */
function bytes(size: number): Uint8Array {
  const out = new Uint8Array(size);
  for (let i = 0, x = size; i < size; i++) out[i] = x = (x * 75 + 74 + (i >> 8)) & 0xff;
  return out;
}

function assertSame(actual: Uint8Array, expected: Uint8Array, what: string): void {
  assert.equal(actual.byteLength, expected.byteLength, what);
  assert.equal(Buffer.compare(actual, expected), 0, what);
}

describe('BR-37', () => {
  let world: RedisWorld;
  const real = Real.forThisFile({
    prepare: async (started) => {
      world = await started.world(7);
    },
  });

  for (const [name, size] of Object.entries(SIZES)) {
    test(`input, result, output, hook payload and chunk of ${name} are returned unchanged`, async () => {
      const payload = bytes(size);
      const runId = newRunId();
      const [step, hook, stream] = [newStepId(), newHookId(), `strm_${ulid()}`];
      const send = async (kind: string, id: string, data: object) => {
        const event = eventOf(kind, 7, { id, token: hook });
        return world.events.create(runId, { ...event, eventData: { ...event.eventData, ...data } });
      };
      await send('run_created', '', { input: payload });
      assertSame((await world.runs.get(runId)).input, payload, 'input of the run');
      await send('step_created', step, { input: payload });
      assertSame((await world.events.create(runId, eventOf('step_started', 7, { id: step }))).step.input, payload, 'input of the step');
      await send('step_completed', step, { result: payload });
      assertSame((await world.steps.get(runId, step)).output, payload, 'result of the step');
      await send('hook_created', hook, {});
      const { event } = await send('hook_received', hook, { payload });
      assertSame((await world.events.get(runId, event.eventId)).eventData.payload, payload, 'payload of the hook');
      await world.writeToStream(stream, runId, payload);
      assertSame((await world.getStreamChunks(stream, runId)).data[0]?.data as Uint8Array, payload, 'chunk');
      await send('run_completed', '', { output: payload });
      assertSame((await world.runs.get(runId)).output, payload, 'output of the run');
    });
  }

  for (const [name, size] of Object.entries(LARGE_SIZES)) {
    test(`result and chunk of ${name} are returned unchanged`, async () => {
      const payload = bytes(size);
      const [step, stream] = [newStepId(), `strm_${ulid()}`];
      const runId = await real.run(world, 7, step, 'step_created', 'step_started');
      const event = { ...eventOf('step_completed', 7, { id: step }), eventData: { stepName: 's', result: payload } };
      await world.events.create(runId, event, { resolveData: 'none' });
      assertSame((await world.steps.get(runId, step)).output, payload, 'result of the step');
      await world.writeToStream(stream, runId, payload);
      assertSame((await world.getStreamChunks(stream, runId)).data[0]?.data as Uint8Array, payload, 'chunk');
    });
  }

  test('above the limit the error names size and limit, and nothing is stored', async () => {
    const big = new Uint8Array(LIMIT);
    const runId = await real.run(world, 7);
    const [step, hook] = [newStepId(), newHookId()];
    for (const [kind, id] of [
      ['step_created', step],
      ['step_started', step],
      ['hook_created', hook],
    ] as const) {
      await world.events.create(runId, eventOf(kind, 7, { id, token: hook }));
    }
    const log = await typesOf(world, runId);
    const tooBig = (size: RegExp) => ({ name: 'WorkflowWorldError', status: 413, code: 'too_large', message: size });
    const withEnvelope = tooBig(/^the body has 6710[89]\d{3} bytes, the limit is 67108864 \(WORKFLOW_WORLD_MAX_BODY\)$/);
    const send = (of: string, kind: string, id: string, data: object) => {
      const event = eventOf(kind, 7, { id, token: newHookId() });
      return world.events.create(of, { ...event, eventData: { ...event.eventData, ...data } });
    };
    const never = newRunId();
    const calls = [
      () => send(never, 'run_created', '', { input: big }),
      () => send(runId, 'step_created', newStepId(), { input: big }),
      () => send(runId, 'hook_created', newHookId(), { metadata: big }),
      () => send(runId, 'hook_received', hook, { payload: big }),
      () => send(runId, 'run_completed', '', { output: big }),
      () => world.queue('__wkf_workflow_w', { runId, input: big }),
    ];
    for (const call of calls) assert.equal(isRetryable(await refused(call(), withEnvelope)), false);
    // A chunk is the body itself, so the limit is exact.
    await refused(world.writeToStream('strm_big', runId, new Uint8Array(LIMIT + 1)), tooBig(/^the body has 67108865 bytes, the limit is 67108864 /));
    assert.deepEqual(await world.getStreamInfo('strm_big', runId), { tailIndex: -1, done: false });
    await world.writeToStream('strm_big', runId, big);
    assert.deepEqual(await world.getStreamInfo('strm_big', runId), { tailIndex: 0, done: false });

    await refused(world.runs.get(never), { name: 'WorkflowRunNotFoundError' });
    assert.deepEqual(await typesOf(world, runId), log);
    assert.deepEqual(
      (await world.steps.list({ runId })).data.map(({ stepId, status }) => [stepId, status]),
      [[step, 'running']],
    );
    assert.deepEqual(
      (await world.hooks.list({ runId })).data.map(({ hookId }) => hookId),
      [hook],
    );
    assert.equal((await world.runs.get(runId)).status, 'running');

    // A result that is too large is the end of its step, as one that cannot be serialized: the SDK would run it again.
    const { event, step: failed } = await send(runId, 'step_completed', step, { result: big });
    assert.deepEqual([event.eventType, failed.status, failed.output], ['step_failed', 'failed', undefined]);
    assert.match(new TextDecoder().decode(failed.error), /The result of the step is too large: the body has 6710/);
    assert.deepEqual(await typesOf(world, runId), [...log, 'step_failed']);
  });
});

describe('BR-37, a log of 1 MB events in a Redis that is too small for it', () => {
  const real = Real.forThisFile({ maxMemory: '96mb' });

  test('pages end before 8 MiB; when Redis is full, what is refused is not there and the rest can be read', async () => {
    const world = await real.world(7);
    const runId = await real.run(world, 7);
    const input = bytes(1_000_000);
    const written: string[] = [];
    let full: Error | undefined;
    for (let n = 0; n < 500 && !full; n++) {
      const id = newStepId();
      const call = world.events.create(runId, { ...eventOf('step_created', 7, { id }), eventData: { stepName: 's', input } });
      full = await call.then(
        () => void written.push(id),
        (error: Error) => error,
      );
    }
    const error = await refused(Promise.reject(full), { name: 'WorkflowWorldError', status: 503, message: /Redis is out of memory/ });
    assert.equal(isRetryable(error), true);
    assert.ok(written.length > 40, `${written.length} events fit`);

    const seen: any[] = [];
    let cursor: string | undefined;
    for (let more = true; more; ) {
      const page = await world.events.list({ runId, pagination: { limit: 1000, ...(cursor && { cursor }) } });
      const inPage = page.data.reduce((sum, { eventData }) => sum + (eventData?.input?.byteLength ?? 0), 0);
      assert.ok(inPage <= 8 * 1024 * 1024, `${inPage} bytes in a page`);
      assert.ok(page.data.length > 0);
      seen.push(...page.data);
      cursor = String(page.cursor);
      more = page.hasMore;
    }
    assert.deepEqual(
      seen.slice(2).map(({ correlationId }) => correlationId),
      written,
    );
    assertSame(seen.at(-1).eventData.input, input, 'the last event');
    const steps = await world.steps.list({ runId, pagination: { limit: 1000, sortOrder: 'asc' }, resolveData: 'none' });
    assert.deepEqual(
      steps.data.map(({ stepId }) => stepId),
      written,
    );
    // What run_started brings is a whole log or a page that says that there is more.
    const { events, hasMore } = await world.events.create(runId, eventOf('run_started', 7, { id: '' }));
    assert.ok(events === undefined || hasMore === true);
  });
});
