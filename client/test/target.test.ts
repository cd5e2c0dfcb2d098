import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { createWorld, part } from './helpers/client.js';
import { Fake, json } from './helpers/fake.js';

const { decode, encode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');
const { namesBelow, ownWorkflows } = part<typeof import('../build/delivery/ownWorkflows.js')>('delivery/ownWorkflows');
const { identity } = part<typeof import('../build/delivery/identity.js')>('delivery/identity');

const FLOW = '__wkf_workflow_';

afterEach(() => {
  for (const name of ['WORKFLOW_DEPLOYMENT_ID', 'WORKFLOW_WORLD_TOKEN']) delete process.env[name];
});

function app(): { received: unknown[]; handle: (headers: Record<string, string>, body?: Uint8Array) => Promise<Response> } {
  const received: unknown[] = [];
  const handler = createWorld().createQueueHandler(FLOW, async (message) => {
    received.push(message);
  });
  const handle = (headers: Record<string, string>, body = encode({ runId: 'r' })) => {
    const named = { 'content-type': 'application/cbor', 'x-vqs-queue-name': `${FLOW}order`, 'x-vqs-message-id': 'msg_1', 'x-vqs-message-attempt': '1' };
    return handler(new Request('http://app/.well-known/workflow/v1/flow', { method: 'POST', headers: { ...named, ...headers }, body }));
  };
  return { received, handle };
}

test('a delivery for another deployment is refused before the workflow sees it', async () => {
  process.env['WORKFLOW_DEPLOYMENT_ID'] = 'shop';
  const { received, handle } = app();
  for (const wanted of ['cont', 'dpl_world-redis', 'caf%C3%A9']) {
    const response = await handle({ 'x-world-redis-deployment': wanted });
    assert.equal(response.status, 421);
    assert.equal(response.headers.get('x-world-redis-client'), '1');
    const { error, deployment } = (await response.json()) as { error: string; deployment: string };
    assert.equal(deployment, 'shop');
    assert.match(error, new RegExp(`for deployment "${decodeURIComponent(wanted)}".*WORKFLOW_BASE_URL`));
  }
  assert.deepEqual(received, []);
  for (const headers of [{ 'x-world-redis-deployment': 'shop' }, {}]) assert.equal((await handle(headers)).status, 200, 'its own, or from an older service');
  assert.equal(received.length, 2);
  process.env['WORKFLOW_DEPLOYMENT_ID'] = 'café 100%';
  const own = app();
  assert.equal((await own.handle({ 'x-world-redis-deployment': 'caf%C3%A9 100%25' })).status, 200);
});

test('a delivery for a deployment that another World of this process has announced is accepted', async (t) => {
  const { handle } = app();
  const wanted = { 'x-world-redis-deployment': 'dpl_announced' };
  assert.equal((await handle(wanted)).status, 421);
  const service = await Fake.start(json(200, { messageId: 'msg_1' }));
  t.after(() => service.stop());
  const other = createWorld({ url: service.url, deploymentId: 'dpl_announced', baseUrl: 'http://localhost:4000' });
  await other.queue(`${FLOW}order`, { runId: 'wrun_1' });
  assert.equal((await handle(wanted)).status, 200);
  assert.equal((await handle({ 'x-world-redis-deployment': 'dpl_of_another_process' })).status, 421);
});

test('a workflow that this app lacks is refused only where another app has registered with it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'world-redis-'));
  const before = process.cwd();
  t.after(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  assert.equal(namesBelow(folder), undefined);
  const write = (below: string, name: string): void => {
    mkdirSync(join(folder, below), { recursive: true });
    writeFileSync(join(folder, below, 'manifest.json'), JSON.stringify({ workflows: { 'a.ts': { one: { workflowId: name } } } }));
  };
  write('.well-known/workflow/v1', 'pay');
  write('app/.well-known/workflow/v1', 'order');
  assert.deepEqual(namesBelow(folder), ['order', 'pay']);
  process.chdir(folder);
  assert.deepEqual(ownWorkflows(Date.now() + 60_000), ['order', 'pay'], 'read again once it is old');
  assert.deepEqual(identity().workflows, ['order', 'pay']);

  const { received, handle } = app();
  const other = { 'x-vqs-queue-name': `${FLOW}ship` };
  const refused = await handle({ ...other, 'x-world-redis-workflow': 'registered' });
  assert.equal(refused.status, 421);
  assert.match(((await refused.json()) as { error: string }).error, /no workflow "ship"/);
  assert.deepEqual(received, []);
  assert.equal((await handle(other)).status, 200, 'the SDK fails the run of a workflow that nobody has');
  assert.equal((await handle({ 'x-world-redis-workflow': 'registered' })).status, 200);

  writeFileSync(join(folder, 'app/.well-known/workflow/v1/manifest.json'), '{"workflows":');
  assert.deepEqual(namesBelow(folder), ['pay'], 'a manifest that is being written');
  write('app/.well-known/workflow/v1', 'x'.repeat(9_000));
  assert.equal(namesBelow(folder), undefined, 'too long for a registration');
});

test('a probe is answered with who answers, and with a proof that only this process has', async () => {
  process.env['WORKFLOW_DEPLOYMENT_ID'] = 'shop';
  const handler = createWorld().createQueueHandler(FLOW, async () => assert.fail('a probe is no message'));
  const probe = (headers: Record<string, string> = {}) =>
    handler(new Request('http://app/.well-known/workflow/v1/flow', { method: 'POST', headers: { 'x-world-redis-probe': '1', 'x-vqs-message-id': 'probe_1', ...headers } }));
  const response = await probe();
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-world-redis-client'), '1');
  const proof = createHmac('sha256', identity().nonce).update('world-redis probe v1\nprobe_1').digest('hex');
  const { workflows: _, ...answer } = (await response.json()) as Record<string, unknown>;
  assert.deepEqual(answer, { deployment: 'shop', sdk: 'v4', proof });

  process.env['WORKFLOW_WORLD_TOKEN'] = 'secret';
  const own = createWorld().createQueueHandler(FLOW, async () => assert.fail('a probe is no message'));
  const signed = { 'x-world-redis-probe': '1', 'x-vqs-message-id': 'probe_2', 'x-world-signature': `t=${Date.now()},n=ABCDEFGHIJKLMNOPQRSTUVWXYZ,v1=${'0'.repeat(64)}` };
  for (const headers of [{ 'x-world-redis-probe': '1' }, signed]) {
    const refused = await own(new Request('http://app/.well-known/workflow/v1/flow', { method: 'POST', headers }));
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get('www-authenticate'), 'World-Signature');
  }
});

test('start() registers with the nonce that answers probes; queue() and close() do not send it', async (t) => {
  const fake = await Fake.start(json(200, { messageId: 'msg_1' }));
  t.after(() => fake.stop());
  const world = createWorld({ url: fake.url, baseUrl: 'http://app.example' });
  await world.start();
  await world.queue(`${FLOW}order`, { runId: 'r' });
  await world.close();
  const [registered, queued, goodbye] = fake.seen.map(({ body }) => decode(body) as Record<string, unknown>);
  assert.equal(registered?.['nonce'], identity().nonce);
  assert.match(identity().nonce, /^[0-9a-f]{32}$/);
  assert.equal((queued?.['app'] as Record<string, unknown> | undefined)?.['nonce'], undefined);
  assert.equal(goodbye?.['nonce'], undefined);
});
