import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { createWorld, part } from './helpers/client.js';
import { Fake, json } from './helpers/fake.js';

const { decode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const VARIABLES = [
  'WORKFLOW_WORLD_URL',
  'WORKFLOW_WORLD_TOKEN',
  'WORKFLOW_BASE_URL',
  'WORKFLOW_DEPLOYMENT_ID',
  'WORKFLOW_QUEUE_NAMESPACE',
  'WORKFLOW_WORLD_APP_LEASE_SECONDS',
  'PORT',
];
const before = Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]]));
for (const name of VARIABLES) delete process.env[name];

const fakes: Fake[] = [];
afterEach(async () => {
  for (const fake of fakes.splice(0)) {
    await createWorld({ url: fake.url }).close();
    await fake.stop();
  }
  for (const name of VARIABLES) delete process.env[name];
});
after(() => {
  for (const name of VARIABLES) if (before[name] !== undefined) process.env[name] = before[name];
});

/** A World that takes everything from the environment, as under the SDK. */
async function fakeWorld() {
  const fake = await Fake.start(json(200, { messageId: 'msg_1' }));
  fakes.push(fake);
  process.env['WORKFLOW_WORLD_URL'] = fake.url;
  // The nonce and the workflows are in target.test.ts.
  const bodies = () =>
    fake.seen.map(({ url, body }) => {
      const { nonce: _, workflows: __, ...rest } = decode(body) as Record<string, unknown>;
      return [url, rest] as [string, Record<string, unknown>];
    });
  return { fake, world: createWorld(), bodies };
}

const FLOW = '__wkf_workflow_w';

test('start() registers the base URL, this deployment and the SDK generation', async () => {
  const { world, bodies } = await fakeWorld();
  process.env['WORKFLOW_BASE_URL'] = 'http://app.example:3000/base/';
  process.env['WORKFLOW_DEPLOYMENT_ID'] = 'dpl_7';
  await world.start();
  assert.deepEqual(bodies(), [['/v1/apps', { baseUrl: 'http://app.example:3000/base', deploymentId: 'dpl_7', sdk: 'v4', attach: ['run_started'], leaseSeconds: 90 }]]);
  assert.equal(await world.getDeploymentId(), 'dpl_7');
});

test('a process that only enqueues never becomes a target, even where PORT is set', async () => {
  const { world, bodies } = await fakeWorld();
  process.env['PORT'] = '4111';
  assert.deepEqual(await world.queue(FLOW, { runId: 'r' }), { messageId: 'msg_1' });
  assert.deepEqual(bodies(), [['/v1/queue', { queueName: FLOW, message: { runId: 'r' } }]]);
});

test('an app that never calls start() is reachable through its queue() calls when its base URL is set', async () => {
  const { world, bodies } = await fakeWorld();
  process.env['WORKFLOW_BASE_URL'] = 'http://app.example';
  await world.queue(FLOW, { runId: 'r' }, { deploymentId: 'dpl_other' });
  assert.deepEqual(bodies()[0]?.[1], {
    queueName: FLOW,
    message: { runId: 'r' },
    deploymentId: 'dpl_other',
    app: { baseUrl: 'http://app.example', deploymentId: 'dpl_world-redis', sdk: 'v4', attach: ['run_started'] },
  });
});

test('after start() every World of the process names the app in queue(), after close() none does', async () => {
  const { bodies } = await fakeWorld();
  const world = createWorld({ baseUrl: 'http://localhost:4111' });
  await world.start();
  await createWorld().queue(FLOW, { runId: 'r' });
  await world.close();
  await createWorld().queue(FLOW, { runId: 'r' });
  const [, started, goodbye, closed] = bodies();
  assert.deepEqual(started?.[1]['app'], {
    baseUrl: 'http://localhost:4111',
    deploymentId: 'dpl_world-redis',
    sdk: 'v4',
    attach: ['run_started'],
    leaseSeconds: 90,
  });
  assert.equal(started?.[1]['deploymentId'], 'dpl_world-redis');
  assert.equal(goodbye?.[0], '/v1/apps/unregister');
  assert.equal(goodbye?.[1]['baseUrl'], 'http://localhost:4111');
  assert.deepEqual(closed?.[1], { queueName: FLOW, message: { runId: 'r' } });
});

test('an app with a base URL has one lease, the same by start() and by queue(); without start() a long one', async () => {
  const { world, bodies } = await fakeWorld();
  process.env['WORKFLOW_BASE_URL'] = 'http://app.example/';
  await world.queue(FLOW, { runId: 'r' });
  await world.start();
  await world.queue(FLOW, { runId: 'r' });
  const leases = bodies().map(([, body]) => ((body['app'] ?? body) as { leaseSeconds?: number }).leaseSeconds);
  assert.deepEqual(leases, [undefined, 90, 90]);
});

test('the lease can be set, 0 is a long one; nonsense is refused', async () => {
  const { world, bodies } = await fakeWorld();
  process.env['WORKFLOW_BASE_URL'] = 'http://app.example';
  process.env['WORKFLOW_WORLD_APP_LEASE_SECONDS'] = '0';
  await world.start();
  process.env['WORKFLOW_WORLD_APP_LEASE_SECONDS'] = '600';
  await world.start();
  assert.deepEqual(
    bodies().map(([, body]) => body['leaseSeconds']),
    [undefined, 600],
  );
  process.env['WORKFLOW_WORLD_APP_LEASE_SECONDS'] = 'soon';
  await assert.rejects(world.start(), /WORKFLOW_WORLD_APP_LEASE_SECONDS is "soon"/);
});

test('the namespace is sent with the registration of an app and with each message', async () => {
  const { world, bodies } = await fakeWorld();
  process.env['WORKFLOW_BASE_URL'] = 'http://app.example';
  process.env['WORKFLOW_QUEUE_NAMESPACE'] = 'acme';
  await world.start();
  await world.queue('__wkf_step_s', { stepId: 's' }, { specVersion: 3 });
  const [started, queued] = bodies();
  assert.equal(started?.[1]['namespace'], 'acme');
  assert.equal(queued?.[1]['namespace'], 'acme');
  assert.equal(queued?.[1]['specVersion'], 3);
  // Given as an option of the SDK instead, it shows in the prefix of the handler only.
  delete process.env['WORKFLOW_QUEUE_NAMESPACE'];
  world.createQueueHandler('__shop_wkf_workflow_', async () => undefined);
  await world.start();
  assert.equal(bodies()[2]?.[1]['namespace'], 'shop');
});

test('close() does not wait for a service that is away', async () => {
  const { fake, world } = await fakeWorld();
  process.env['WORKFLOW_BASE_URL'] = 'http://app.example';
  await world.start();
  await fake.stop();
  await world.close();
});

test('queue() passes on key, delay and headers, and the message as it is', async () => {
  const { world, bodies } = await fakeWorld();
  const message = { workflowRunId: 'r', stepId: 's', requestedAt: new Date(1700000000123), in: new Uint8Array([1]) };
  await world.queue('__wkf_step_x', message, {
    idempotencyKey: 'step_1',
    delaySeconds: 1.5,
    headers: { traceparent: 't' },
    specVersion: 3,
  });
  assert.deepEqual(bodies()[0]?.[1], {
    queueName: '__wkf_step_x',
    message,
    idempotencyKey: 'step_1',
    delaySeconds: 1.5,
    headers: { traceparent: 't' },
    specVersion: 3,
  });
});

test('start() does not wait for a service that is away; it registers when the service comes', async () => {
  const { fake, world } = await fakeWorld();
  process.env['WORKFLOW_BASE_URL'] = 'http://localhost:3000';
  const port = Number(new URL(fake.url).port);
  await fake.stop();
  const written: string[] = [];
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = ((text: string) => written.push(text) > 0) as typeof process.stderr.write;
  try {
    await world.start();
  } finally {
    process.stderr.write = write;
  }
  assert.equal(written.length, 1);
  assert.match(String(written[0]), /^\[world-redis\] http:\/\/localhost:3000 could not be registered: .*world-redis running/);
  await fake.listen(port);
  while (fake.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(fake.seen[0]?.url, '/v1/apps');
});

test('warnings in the answer to a registration are written to stderr', async () => {
  const { fake, world } = await fakeWorld();
  process.env['WORKFLOW_BASE_URL'] = 'http://app.example';
  fake.next(json(200, { warnings: [{ code: 'no_answer', message: 'nobody answers at http://app.example' }] }));
  const written: string[] = [];
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = ((text: string) => written.push(text) > 0) as typeof process.stderr.write;
  try {
    await world.start();
  } finally {
    process.stderr.write = write;
  }
  assert.deepEqual(written, ['[world-redis] WARNING: nobody answers at http://app.example\n']);
});

test('a malformed base URL is said by the call that uses it', async () => {
  const { world } = await fakeWorld();
  process.env['WORKFLOW_BASE_URL'] = 'app.example';
  await assert.rejects(world.start(), /WORKFLOW_BASE_URL is "app.example"/);
  await assert.rejects(world.queue(FLOW, {}), /WORKFLOW_BASE_URL is "app.example"/);
});
