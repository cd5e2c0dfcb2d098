/** BR-38, bytes or dates changed on the way: what is read is what was written, in CBOR and in JSON. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { App } from './helpers/app.js';
import { createWorld, legacyCalls, part } from './helpers/client.js';
import { eventOf } from './helpers/events.js';
import { newHookId, newRunId, newStepId, newWaitId, ulid } from './helpers/ids.js';
import { Real } from './helpers/real.js';
import { BYTES, CHANGED, VALUES } from './tables/payloads.js';

const { decodeJson, encodeJson } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

let v4: RedisWorld;
let v5: RedisWorld;
const real = Real.forThisFile({
  prepare: async (started) => {
    [v4, v5] = [await started.world(3), await started.world(7)];
  },
});

/** Calls the service in JSON. */
async function json(path: string, body?: unknown): Promise<any> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: encodeJson(body) };
  const answer = await fetch(real.service.url + path, body === undefined ? {} : post);
  const value = decodeJson(await answer.text());
  assert.equal(answer.status, 200, JSON.stringify(value));
  return value;
}

/** The two ways in: the client, which speaks CBOR, and any program that speaks JSON. */
const ways: Record<string, (runId: string, event: any) => Promise<any>> = {
  CBOR: (runId, event) => v5.events.create(runId, event),
  JSON: (runId, event) => json(`/v1/runs/${runId}/events`, { event }),
};

for (const [way, create] of Object.entries(ways)) {
  describe(`BR-38, written in ${way}`, () => {
    for (const [name, bytes] of Object.entries(BYTES)) {
      test(`bytes: ${name}`, async () => {
        const runId = newRunId();
        const [done, failed, hook] = [newStepId(), newStepId(), newHookId()];
        const send = (kind: string, id: string, data: object) => {
          const event = eventOf(kind, 7, { id, token: hook });
          return create(runId, { ...event, eventData: { ...event.eventData, ...data } });
        };
        await send('run_created', '', { input: bytes });
        for (const step of [done, failed]) await send('step_created', step, { input: bytes });
        await send('step_completed', done, { result: bytes });
        await send('step_failed', failed, { error: bytes });
        await send('hook_created', hook, { metadata: bytes });
        await send('hook_received', hook, { payload: bytes });
        assert.deepEqual((await v5.hooks.getByToken(hook)).metadata, bytes);
        await send('run_failed', '', { error: bytes });

        const run = await v5.runs.get(runId);
        assert.deepEqual([run.input, run.error], [bytes, bytes]);
        const [one, two] = [await v5.steps.get(runId, done), await v5.steps.get(runId, failed)];
        assert.deepEqual([one.input, one.output, two.error], [bytes, bytes, bytes]);
        const fields = ['input', 'result', 'error', 'metadata', 'payload'];
        const inLog = (events: any[]) => events.flatMap(({ eventData = {} }) => fields.filter((field) => field in eventData).map((field) => eventData[field]));
        const { data } = await v5.events.list({ runId });
        assert.deepEqual(
          inLog(data),
          Array.from({ length: 8 }, () => bytes),
        );
        assert.deepEqual(inLog((await json(`/v1/runs/${runId}/events`)).data), inLog(data));
        assert.deepEqual((await json(`/v1/runs/${runId}`)).input, bytes);
      });
    }

    for (const [name, value, back] of [...Object.entries(VALUES).map(([key, v]) => [key, v, v] as const), ...CHANGED]) {
      test(`values: ${name}`, async () => {
        const runId = newRunId();
        const [step, hook] = [newStepId(), newHookId()];
        const send = (kind: string, id: string, data: object) => {
          const event = eventOf(kind, 3, { id, token: hook });
          return create(runId, { ...event, eventData: { ...event.eventData, ...data } });
        };
        await send('run_created', '', { input: [value], executionContext: { value } });
        await send('step_created', step, { input: { value } });
        await send('step_completed', step, { result: [value] });
        await send('hook_created', hook, { metadata: { value } });
        const { event } = await send('hook_received', hook, { payload: [value] });
        await send('run_completed', '', { output: { value } });
        const run = await v4.runs.get(runId);
        assert.deepEqual([run.input, run.executionContext, run.output], [[back], { value: back }, { value: back }]);
        const { input, output } = await v4.steps.get(runId, step);
        assert.deepEqual([input, output], [{ value: back }, [back]]);
        assert.deepEqual((await v4.events.get(runId, event.eventId)).eventData.payload, [back]);
        assert.deepEqual((await json(`/v1/runs/${runId}`)).executionContext, { value: back });
      });
    }

    test('the error texts of v4', async () => {
      for (const [name, text] of Object.entries(VALUES).filter(([, value]) => typeof value === 'string' && value !== '')) {
        const runId = newRunId();
        const step = newStepId();
        const send = (kind: string, id: string, eventData: object) => create(runId, { ...eventOf(kind, 3, { id }), eventData });
        await create(runId, eventOf('run_created', 3, { id: '' }));
        await create(runId, eventOf('step_created', 3, { id: step }));
        await send('step_failed', step, { stepName: 's', error: text, stack: text });
        await send('run_failed', '', { error: { message: text, stack: text }, errorCode: text });
        assert.deepEqual((await v4.steps.get(runId, step)).error, { message: text, stack: text }, name);
        assert.deepEqual((await v4.runs.get(runId)).error, { message: text, stack: text, code: text }, name);
      }
    });

    test('dates are Dates where the contract has them, and absent ones are absent', async () => {
      const runId = newRunId();
      const [step, wait, hook] = [newStepId(), newWaitId(), newHookId()];
      const timestamp = new Date('2031-05-06T07:08:09.123Z');
      const inMillis = way === 'JSON' ? timestamp.getTime() : timestamp; // the wire's own form; the client converts
      const send = (kind: string, id: string, data: object = {}) => {
        const event = eventOf(kind, 7, { id, token: hook });
        const { retryAfter: _, tokenRetentionUntil: __, ...eventData } = event.eventData ?? {};
        return create(runId, { ...event, eventData: { ...eventData, ...data } });
      };
      await send('run_created', '');
      const before = await v5.runs.get(runId);
      for (const absent of ['startedAt', 'completedAt', 'expiredAt', 'output', 'error', 'errorCode']) assert.ok(!(absent in before), absent);
      await send('run_started', '');
      await send('step_created', step);
      assert.ok(!('startedAt' in (await v5.steps.get(runId, step))));
      await send('step_started', step);
      await send('step_retrying', step, { retryAfter: inMillis });
      await send('wait_created', wait, { resumeAt: inMillis });
      await send('hook_created', hook);
      assert.ok(!('tokenRetentionUntil' in (await v5.hooks.get(hook))));
      const retrying = await v5.steps.get(runId, step);
      assert.deepEqual(retrying.retryAfter, timestamp);
      for (const field of ['createdAt', 'updatedAt', 'startedAt']) assert.ok(retrying[field] instanceof Date, field);
      assert.ok(!('completedAt' in retrying));
      const { data } = await v5.events.list({ runId });
      assert.deepEqual(data.map(({ eventData }) => eventData?.retryAfter ?? eventData?.resumeAt).filter(Boolean), [timestamp, timestamp]);
      for (const event of data) assert.ok(event.createdAt instanceof Date && !('occurredAt' in event));
    });
  });
}

test('BR-38: chunks of a stream', async () => {
  const [runId, name] = [newRunId(), `strm_${ulid()}`];
  const texts = Object.values(VALUES).filter((value) => typeof value === 'string');
  const chunks = [...Object.values(BYTES), ...texts, 'cut \ud83d'];
  const expected = chunks.map((chunk) => (typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk));
  await v4.writeToStreamMulti(name, runId, chunks);
  for (const chunk of chunks) await v5.streams.write(runId, name, chunk);
  await v5.streams.close(runId, name);
  const all = [...expected, ...expected];
  const { data } = await v5.streams.getChunks(runId, name, { limit: 1000 });
  assert.deepEqual(
    data.map((chunk) => chunk.data),
    all,
  );
  const read: Uint8Array[] = [];
  for await (const chunk of (await v4.readFromStream(name)) as unknown as AsyncIterable<Uint8Array>) read.push(chunk);
  // A live read is a byte stream, in which an empty chunk cannot be told; the SDK's own Worlds leave it out, too.
  assert.deepEqual(
    read,
    all.filter(({ byteLength }) => byteLength > 0),
  );
});

test('BR-38: payloads of the SDK from before event sourcing', async () => {
  const values = Object.values(VALUES);
  const legacy = legacyCalls(real.service.url);
  const run = await legacy.runs.create({ deploymentId: 'd', workflowName: 'w', input: values });
  const step = newStepId();
  await legacy.steps.create(run.runId, { stepId: step, stepName: 's', input: values });
  await legacy.steps.update(run.runId, step, { status: 'completed', output: values });
  await legacy.runs.update(run.runId, { status: 'completed', output: values });
  const [storedRun, storedStep] = [await v4.runs.get(run.runId), await v4.steps.get(run.runId, step)];
  assert.deepEqual([storedRun.input, storedRun.output, storedStep.input, storedStep.output], [values, values, values, values]);
});

for (const [sdk, world] of [
  ['v4', () => v4],
  ['v5', () => v5],
] as const) {
  test(`BR-38: a message of ${sdk} on its way through the queue`, async () => {
    const app = await App.start(world());
    const V5_MARK = Symbol.for('@workflow/world//getWorldFn');
    const globals = globalThis as Record<symbol, unknown>;
    try {
      const deploymentId = `dpl_${sdk}`;
      const sender = createWorld({ url: real.service.url, deploymentId, baseUrl: app.url });
      const message = { runId: newRunId(), values: VALUES, bytes: BYTES, absent: undefined };
      if (sdk === 'v5') globals[V5_MARK] = () => undefined;
      await sender.queue('__wkf_workflow_w', message);
      const [delivered] = await app.deliveries(1);
      const { absent: _, ...expected } = message;
      assert.deepEqual(delivered?.message, expected);
    } finally {
      delete globals[V5_MARK];
      await app.stop();
    }
  });
}
