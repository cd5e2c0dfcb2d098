/** Answers that get lost on the way: the client calls again, and the real service does the work once. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { runChild } from './helpers/child.js';
import { createWorld, part } from './helpers/client.js';
import { Fake, type Seen } from './helpers/fake.js';
import { newRunId, newStepId } from './helpers/ids.js';
import { Service } from './helpers/service.js';

const { decode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

let service: Service;
let lossy: Fake;
/** Talks through a proxy that passes every POST on, and loses the answer of its first try. */
let world: RedisWorld;
before(async () => {
  service = await Service.start();
  const tried = new Set<unknown>();
  lossy = await Fake.start(async (response, seen) => {
    const answer = await forward(seen);
    const key = seen.headers['idempotency-key'] ?? (seen.url === '/v1/calls' ? firstKey(seen.body) : undefined);
    if (key !== undefined && !tried.has(key)) {
      tried.add(key);
      response.socket?.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  world = createWorld({ url: lossy.url });
});
after(async () => {
  await world.close();
  await lossy.stop();
  await service.stop();
});

const firstKey = (bundle: Uint8Array) => (decode(bundle) as { calls: { key: string }[] }).calls[0]?.key;

function forward({ method, url, headers, body }: Seen): Promise<Response> {
  const passed = ['content-type', 'accept', 'idempotency-key'].flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as [string, string]] : [];
  });
  return fetch(service.url + url, { method, headers: passed, ...(method === 'POST' && { body }) });
}

test('a step is started once, its retries are its own', async () => {
  const runId = newRunId();
  const stepId = newStepId();
  const event = (eventType: string, eventData?: object, correlationId?: string) => world.events.create(runId, { eventType, specVersion: 3, correlationId, eventData });
  const input = new Uint8Array([1]);
  const created = await event('run_created', { deploymentId: 'd', workflowName: 'w', input });
  assert.equal(created.run.status, 'pending');
  await event('run_started');
  await event('step_created', { stepName: 's', input }, stepId);
  const { step } = await event('step_started', { stepName: 's' }, stepId);
  assert.equal(step.attempt, 1);
  await event('step_retrying', { error: 'e' }, stepId);
  const { data } = await world.events.list({ runId });
  assert.deepEqual(
    data.map((one) => one.eventType),
    ['run_created', 'run_started', 'step_created', 'step_started', 'step_retrying'],
  );
});

test('a bundle whose answer is lost: each of its calls is done once', async () => {
  const runId = newRunId();
  const input = new Uint8Array([1]);
  const event = (eventType: string, eventData?: object, correlationId?: string) => world.events.create(runId, { eventType, specVersion: 3, correlationId, eventData });
  await event('run_created', { deploymentId: 'd', workflowName: 'w', input });
  await event('run_started');
  const steps = Array.from({ length: 20 }, newStepId);
  const before = lossy.seen.length;
  const made = await Promise.all([
    ...steps.map((id) => event('step_created', { stepName: 's', input }, id)),
    ...Array.from({ length: 3 }, () => world.queue('__wkf_workflow_w', { runId }, { delaySeconds: 3600 })),
  ]);
  assert.ok(lossy.seen.slice(before).some(({ url }) => url === '/v1/calls'));
  const messages = (await (await fetch(`${service.url}/v1/runs/${runId}/messages`)).json()) as { data: { messageId: string }[] };
  assert.deepEqual(
    messages.data.map((one) => one.messageId).sort(),
    made
      .slice(20)
      .map((one) => (one as { messageId: string }).messageId)
      .sort(),
  );
  const { data } = await world.events.list({ runId });
  assert.deepEqual(
    data
      .slice(2)
      .map((one) => one.correlationId)
      .sort(),
    [...steps].sort(),
  );
});

test('an event and the message that is sent with it, whose answer is lost: one event, one message', async () => {
  const runId = newRunId();
  const stepId = newStepId();
  const input = new Uint8Array([1]);
  const event = (eventType: string, eventData?: object, correlationId?: string) => world.events.create(runId, { eventType, specVersion: 3, correlationId, eventData });
  await event('run_created', { deploymentId: 'd', workflowName: 'w', input });
  const began = lossy.seen.length;
  let messageId: unknown;
  const handle = world.createQueueHandler('__wkf_workflow_', async () => {
    const { run } = await event('run_started');
    await event('step_created', { stepName: 's', input }, stepId);
    const message = { workflowName: 'w', workflowRunId: runId, workflowStartedAt: +run.startedAt, stepId, traceCarrier: {}, requestedAt: new Date() };
    ({ messageId } = await world.queue('__wkf_step_s', message, { idempotencyKey: stepId, headers: {} }));
  });
  const headers = { 'x-vqs-queue-name': '__wkf_workflow_w', 'x-vqs-message-id': 'msg_in', 'x-vqs-message-attempt': '1' };
  const answered = await handle(new Request('http://app/', { method: 'POST', headers, body: JSON.stringify({ runId }) }));
  assert.equal(answered.status, 200, await answered.text());

  const path = `/v1/runs/${runId}/events`;
  assert.deepEqual(
    lossy.seen.slice(began).map(({ url }) => url),
    [path, path, '/v1/calls', '/v1/calls'],
  );
  const { data } = await world.events.list({ runId });
  assert.deepEqual(
    data.map((one) => one.eventType),
    ['run_created', 'run_started', 'step_created'],
  );
  const waiting = (await (await fetch(`${service.url}/v1/runs/${runId}/messages`)).json()) as { data: { messageId: string }[] };
  assert.match(String(messageId), /^msg_/);
  assert.deepEqual(
    waiting.data.map((one) => one.messageId),
    [messageId],
  );
  // And the service says the same once more.
  const [first, second] = await Promise.all(lossy.seen.slice(began + 2, began + 4).map(async (seen) => (await forward(seen)).arrayBuffer()));
  assert.deepEqual(first, second);
});

test('a chunk is written once', async () => {
  const runId = newRunId();
  const name = `strm_${runId}`;
  await world.writeToStream(name, runId, 'a');
  await world.writeToStreamMulti(name, runId, ['b', 'c']);
  assert.deepEqual(await world.getStreamInfo(name, runId), { tailIndex: 2, done: false });
});

test('a message is added once, also without a key', async () => {
  const { messageId } = await world.queue('__wkf_workflow_w', { runId: newRunId() }, { delaySeconds: 3600 });
  assert.match(String(messageId), /^msg_/);
  const { length } = lossy.seen;
  const [first, second] = lossy.seen.slice(length - 2);
  assert.equal(first?.headers['idempotency-key'], second?.headers['idempotency-key']);
  const [a, b] = await Promise.all([forward(first as Seen), forward(second as Seen)]);
  assert.deepEqual(new Uint8Array(await a.arrayBuffer()), new Uint8Array(await b.arrayBuffer()));
});

test('a process that works with the service and closes ends by itself with a clean stdout', async () => {
  const script = `
    const world = createWorld();
    (async () => {
      await world.start();
      const { run } = await world.events.create(null, {
        eventType: 'run_created', specVersion: 3,
        eventData: { deploymentId: 'd', workflowName: 'w', input: new Uint8Array([1]) },
      });
      await world.queue('__wkf_workflow_w', { runId: run.runId }, { delaySeconds: 3600 });
      await world.writeToStream('s', run.runId, 'x');
      const reader = (await world.readFromStream('s')).getReader();
      await reader.read();
      void reader.read().catch(() => undefined);
      await world.close();
    })();`;
  const { code, stdout, stderr } = await runChild(script, { WORKFLOW_WORLD_URL: service.url });
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' });
});
