/** The setting of the fast paths: what each name, left out, changes of what the client sends and does. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, afterEach, test } from 'node:test';
import type { RedisWorld } from '../build/types.js';
import { runChild } from './helpers/child.js';
import { createWorld, modulesFolder, part } from './helpers/client.js';
import { type Answer, Fake, json, type Seen } from './helpers/fake.js';
import { binary } from './helpers/service.js';

const { encode, decode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');
const { readFastPaths } = part<typeof import('../build/fastPaths.js')>('fastPaths');

const LIST = 'WORKFLOW_WORLD_FAST_PATHS';
const SOCKET = 'WORKFLOW_WORLD_SOCKET';
const BASE = 'WORKFLOW_BASE_URL';
const ALL = ['pipeline', 'preload', 'anticipate', 'bundles', 'socket', 'fan-in', 'request-body', 'quiet'];
const V5_MARK = Symbol.for('@workflow/world//getWorldFn');
const refusal = (name: string) => `${LIST} names "${name}", which is not a fast path: use all, none, or a list of ${ALL.join(', ')}`;

const fakes: Fake[] = [];
after(() => Promise.all(fakes.map((fake) => fake.stop())));
afterEach(() => {
  for (const name of [LIST, SOCKET, BASE]) delete process.env[name];
  delete (globalThis as Record<symbol, unknown>)[V5_MARK];
});

test('the setting is all, none or a list, and createWorld refuses an unknown name', () => {
  for (const [value, want] of [
    [undefined, ALL],
    ['', ALL],
    [' all ', ALL],
    ['none', []],
    ['quiet', ['quiet']],
    [' socket, bundles,,', ['socket', 'bundles']],
    [ALL.join(), ALL],
  ] as const) {
    if (value !== undefined) process.env[LIST] = value;
    createWorld();
    assert.deepEqual([...readFastPaths()], want, value);
  }
  process.env[SOCKET] = 'off';
  assert.deepEqual(
    [...readFastPaths()],
    ALL.filter((name) => name !== 'socket'),
  );
  for (const [value, name] of [
    ['pipline', 'pipline'],
    ['quiet,none', 'none'],
    ['all,socket', 'all'],
    ['Quiet', 'Quiet'],
  ] as const) {
    process.env[LIST] = value;
    const refused = { name: 'WorkflowWorldError', code: 'INVALID_CONFIG', message: refusal(name) };
    assert.throws(() => createWorld(), refused);
  }
});

test('the service has the same names, and refuses another one with the same sentence', () => {
  const { stdout, stderr, status } = spawnSync(binary, ['serve'], { env: { [LIST]: 'turbo' }, encoding: 'utf8' });
  assert.equal(status, 1);
  assert.ok((stdout + stderr).includes(refusal('turbo')), stdout + stderr);
});

/** The setting with all names but one, or with all. */
function allBut(off: string | undefined): void {
  process.env[LIST] = ALL.filter((name) => name !== off).join();
}

/** A World of its own on a service of its own that answers with the given. */
async function worldOn(answer: Answer): Promise<{ fake: Fake; world: RedisWorld; urls: () => string[] }> {
  const fake = await Fake.start(answer);
  fakes.push(fake);
  return { fake, world: createWorld({ url: fake.url, token: '', signingKey: '' }), urls: () => fake.seen.map(({ url }) => url) };
}

interface Part {
  path: string;
  then?: Part;
}

/** The answer to an event or a message, alone or in a bundle with what follows it. */
const perform: Answer = (response, { url, body }: Seen) => {
  const one = (path: string) => ({ ...(path === '/v1/queue' ? { messageId: 'm' } : { event: { eventType: 'e' } }), runId: path.split('/').at(-1) });
  const inBundle = ({ path, then }: Part): object => ({ status: 200, body: encode(one(path)), ...(then && { then: inBundle(then) }) });
  const value = url === '/v1/calls' ? { answers: (decode(body) as { calls: Part[] }).calls.map(inBundle) } : one(url);
  response.writeHead(200, { 'content-type': 'application/cbor' }).end(encode(value));
};

test('without bundles each call is a request', async () => {
  for (const [off, want] of [
    ['quiet', ['/v1/calls']],
    ['bundles', ['/v1/runs/a', '/v1/runs/b']],
  ] as const) {
    allBut(off);
    const { world, urls } = await worldOn(perform);
    const runs = await Promise.all(['a', 'b'].map((id) => world.runs.get(id)));
    assert.deepEqual(
      runs.map(({ runId }) => runId),
      ['a', 'b'],
    );
    assert.deepEqual(urls().sort(), want);
    await world.close();
  }
});

test('without socket, or without the bundles that it carries, no WebSocket is asked for', async () => {
  const ask = `
    const { connectionTo } = require(${JSON.stringify(join(modulesFolder, 'transport/connection.js'))});
    process.stdout.write(String(connectionTo('http://127.0.0.1:1').sockets !== undefined));`;
  for (const [env, want] of [
    [{}, 'true'],
    [{ [LIST]: 'socket,bundles' }, 'true'],
    [{ [LIST]: 'bundles' }, 'false'],
    [{ [LIST]: 'socket' }, 'false'],
    [{ [LIST]: 'none' }, 'false'],
    [{ [SOCKET]: 'off' }, 'false'],
  ] as const) {
    const { code, stdout, stderr } = await runChild(ask, env);
    assert.deepEqual([code, stdout, stderr], [0, want, ''], JSON.stringify(env));
  }
});

let messages = 0;

/** Has the World's handler work on a message, and returns what the handler returned. */
async function deliver<T>(world: RedisWorld, message: object, work: () => Promise<T>, request: object = {}): Promise<T> {
  let result: Promise<T> | undefined;
  const handle = world.createQueueHandler('__wkf_workflow_', () => (result = work()));
  const headers = { 'x-vqs-queue-name': '__wkf_workflow_w', 'x-vqs-message-id': `msg_fast_${messages++}`, 'x-vqs-message-attempt': '1' };
  const made = new Request('http://app/', { method: 'POST', headers, body: JSON.stringify(message), ...request });
  assert.equal((await handle(made)).status, 200);
  return (await result) as T;
}

const event = (eventType: string, more: object = {}) => ({ eventType, specVersion: 3, ...more }) as never;

test('without preload the app asks for none, and makes the call even if one arrives', async () => {
  for (const [off, calls, attach] of [
    ['quiet', 0, ['run_started']],
    ['preload', 1, undefined],
  ] as const) {
    allBut(off);
    process.env[BASE] = 'http://app.example';
    const { world, fake, urls } = await worldOn(json(200, { event: {} }));
    const bytes = encode({ run: { runId: 'r', status: 'running', startedAt: 1 }, events: [], cursor: null, hasMore: false });
    const message = Buffer.from('{"runId":"r"}');
    const headers = {
      'content-type': 'application/json',
      'x-vqs-queue-name': '__wkf_workflow_w',
      'x-vqs-message-id': `msg_fast_${messages++}`,
      'x-vqs-message-attempt': '1',
      'x-world-redis-attached': String(bytes.byteLength),
    };
    await deliver(world, {}, () => world.events.create('r', event('run_started')), { headers, body: Buffer.concat([message, bytes]) });
    assert.equal(urls().length, calls);
    await world.start();
    const { attach: registered } = decode(fake.seen.at(-1)?.body as Buffer) as { attach?: string[] };
    assert.deepEqual(registered, attach);
    await world.close();
  }
});

test('without anticipate the SDK v4 message of a step is a call of its own', async () => {
  const step = { workflowName: 'w', workflowRunId: 'r', workflowStartedAt: 1, traceCarrier: {} };
  for (const [off, want] of [
    ['quiet', ['/v1/calls']],
    ['anticipate', ['/v1/runs/r/events', '/v1/queue']],
  ] as const) {
    allBut(off);
    const { world, urls } = await worldOn(perform);
    const handle = world.createQueueHandler('__wkf_step_', async () => {
      await world.events.create('r', event('step_completed', { correlationId: 's', eventData: { result: new Uint8Array() } }));
      await world.queue('__wkf_workflow_w', { runId: 'r', traceCarrier: {}, requestedAt: new Date() });
    });
    const headers = { 'x-vqs-queue-name': '__wkf_step_s', 'x-vqs-message-id': `msg_fast_${messages++}`, 'x-vqs-message-attempt': '1' };
    const request = new Request('http://app/', { method: 'POST', headers, body: JSON.stringify({ ...step, stepId: 's' }) });
    assert.equal((await handle(request)).status, 200);
    assert.deepEqual(urls(), want);
    await world.close();
  }
});

test('without fan-in each delivery of a step of SDK v5 reads the log itself', async () => {
  (globalThis as Record<symbol, unknown>)[V5_MARK] = () => undefined;
  for (const [off, want] of [
    ['quiet', 2],
    ['fan-in', 3],
  ] as const) {
    allBut(off);
    const held: Parameters<Answer>[0][] = [];
    let came: (() => void) | undefined;
    const { world, urls } = await worldOn((response) => {
      held.push(response);
      came?.();
    });
    const answerAll = () => {
      for (const response of held.splice(0)) json(200, { data: [], cursor: null, hasMore: false })(response, {} as Seen);
    };
    const next = () => new Promise<void>((resolve) => (came = resolve));
    let asked = 0;
    let all: (() => void) | undefined;
    const everyone = new Promise<void>((resolve) => (all = resolve));
    const read = () => {
      const page = world.events.list({ runId: 'r', pagination: { sortOrder: 'asc' } });
      if (++asked === 3) all?.();
      return page;
    };
    const first = next();
    const early = deliver(world, { runId: 'r', stepId: 's0' }, read);
    await first;
    const late = ['s1', 's2'].map((stepId) => deliver(world, { runId: 'r', stepId }, read));
    await everyone;
    came = answerAll;
    answerAll();
    for (const page of await Promise.all([early, ...late])) assert.deepEqual(page.data, []);
    assert.equal(urls().length, want);
    await world.close();
  }
});

test('without request-body the body of a delivery is read from its Request', async () => {
  for (const [off, want] of [
    ['quiet', 0],
    ['request-body', 1],
  ] as const) {
    allBut(off);
    let asked = 0;
    const handle = createWorld({ token: '', signingKey: '' }).createQueueHandler('__wkf_workflow_', async () => undefined);
    const server = createServer(async (incoming, response) => {
      const arrayBuffer = () => {
        asked++;
        return new Response(Readable.toWeb(incoming) as ReadableStream).arrayBuffer();
      };
      const request = { headers: new Headers(incoming.headers as Record<string, string>), arrayBuffer } as unknown as Request;
      const answer = await handle(request);
      response.writeHead(answer.status).end(await answer.text());
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const headers = { 'x-vqs-queue-name': '__wkf_workflow_w', 'x-vqs-message-id': `msg_fast_${messages++}`, 'x-vqs-message-attempt': '1' };
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const answered = await fetch(url, { method: 'POST', headers, body: '{"runId":"r"}' });
    assert.deepEqual([answered.status, await answered.json()], [200, { ok: true }]);
    assert.equal(asked, want);
    server.closeAllConnections();
    server.close();
  }
});
