/** Messages through the real service to a handler of the client's own making. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { App } from './helpers/app.js';
import { createWorld } from './helpers/client.js';
import { newRunId, newStepId } from './helpers/ids.js';
import { Service } from './helpers/service.js';

let service: Service;
before(async () => {
  service = await Service.start();
});
after(async () => {
  await Promise.all(apps.map((app) => app.stop()));
  await createWorld({ url: service.url }).close();
  await service.stop();
});

const FLOW = '__wkf_workflow_workflow//./a.ts//größe';

const apps: App[] = [];
/** A deployment of its own for each test, so that no message strays into another's app. */
async function startApp(act?: Parameters<typeof App.start>[1]) {
  const app = await App.start(createWorld(), act);
  const deploymentId = `dpl_${apps.push(app)}`;
  const world = createWorld({ url: service.url, deploymentId, baseUrl: app.url });
  return { app, world, deploymentId };
}

test('a message is delivered unchanged to the app that start() registered', async () => {
  const { app, world } = await startApp();
  await world.start();
  const message = {
    runId: newRunId(),
    requestedAt: new Date(1700000000123),
    runInput: { input: new Uint8Array([0, 1, 255]), deploymentId: 'd', executionContext: { a: [1, null, 'x'] } },
  };
  const { messageId } = await world.queue(FLOW, message, { headers: { traceparent: 't' } });
  assert.deepEqual(await app.deliveries(1), [{ message, attempt: 1, queueName: FLOW, messageId }]);
});

test('a step message reaches the step route', async () => {
  const { app, world } = await startApp();
  const message = { workflowName: 'w', workflowRunId: newRunId(), workflowStartedAt: 1700000000123, stepId: newStepId() };
  await world.queue('__wkf_step_step//./a.ts//add', message, { idempotencyKey: message.stepId });
  const [delivered] = await app.deliveries(1);
  assert.deepEqual(delivered?.message, message);
  assert.equal(delivered?.queueName, '__wkf_step_step//./a.ts//add');
});

test('a script enqueues before any app has registered; the message waits for the app', async () => {
  const { app, world, deploymentId } = await startApp();
  const script = createWorld({ url: service.url });
  const runId = newRunId();
  const { messageId } = await script.queue(FLOW, { runId }, { deploymentId });
  assert.deepEqual(app.delivered, []);
  await world.start();
  assert.equal((await app.deliveries(1))[0]?.messageId, messageId);
});

test('a handler that asks for the message again gets the same one, as a later attempt', async () => {
  const { app, world } = await startApp((_delivered, n) => (n === 0 ? { timeoutSeconds: 0 } : undefined));
  const { messageId } = await world.queue(FLOW, { runId: newRunId() });
  const [first, second] = await app.deliveries(2);
  assert.deepEqual([first?.attempt, second?.attempt], [1, 2]);
  assert.deepEqual([first?.messageId, second?.messageId], [messageId, messageId]);
});

test('a handler that throws gets the message again, as a later attempt', async () => {
  const { app, world } = await startApp((_delivered, n) => {
    if (n === 0) throw new Error('not today');
  });
  await world.queue(FLOW, { runId: newRunId() });
  const [, second] = await app.deliveries(2);
  assert.equal(second?.attempt, 2);
});

test('a message with a key that is not finished is not added twice', async () => {
  let release: (() => void) | undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { app, world } = await startApp((_delivered, n) => (n === 0 ? held : undefined));
  const message = { workflowName: 'w', workflowRunId: newRunId(), workflowStartedAt: 1, stepId: newStepId() };
  const key = { idempotencyKey: message.stepId };
  const { messageId } = await world.queue('__wkf_step_s', message, key);
  await app.deliveries(1);
  assert.deepEqual(await world.queue('__wkf_step_s', message, key), { messageId });
  release?.();
});
