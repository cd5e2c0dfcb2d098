/** Calls made in one turn of the event loop travel together, and stay calls of their own. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createWorld, part } from './helpers/client.js';
import { type Answer, drop, Fake, json, type Seen } from './helpers/fake.js';

const { decode, encode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

interface Bundled {
  path: string;
  key: string;
  body: Uint8Array;
}

const fakes: Fake[] = [];
after(async () => {
  for (const fake of fakes) {
    await createWorld({ url: fake.url }).close();
    await fake.stop();
  }
});

const callsOf = (seen: Seen | undefined) => (decode(seen?.body ?? Buffer.of()) as { calls: Bundled[] }).calls;
const idOf = (call: Bundled) => (decode(call.body) as { event: { correlationId: string } }).event.correlationId;

/** Answers each call of a bundle by itself. */
const each =
  (answer: (id: string) => { status: number; body: unknown; retryAfter?: string }): Answer =>
  (response, seen) => {
    const answers = callsOf(seen).map((one) => {
      const { body, ...rest } = answer(idOf(one));
      return { ...rest, body: encode(body) };
    });
    response.writeHead(200, { 'content-type': 'application/cbor' });
    response.end(encode({ answers }));
  };
const created = each((id) => ({ status: 200, body: { event: { eventId: id } } }));

async function fakeWorld(fallback: Answer, basePath = '') {
  const fake = await Fake.start(fallback);
  fakes.push(fake);
  const world = createWorld({ url: fake.url + basePath });
  const create = (id: string, input = new Uint8Array(3)) =>
    world.events.create('r', { eventType: 'step_created', correlationId: id, specVersion: 3, eventData: { stepName: 's', input } });
  return { fake, world, create };
}

const eventOf = (id: string) => ({ event: { eventId: id } });

test('calls of one turn are one request, each with its own key and answer; a single call is a plain request', async () => {
  const { fake, create } = await fakeWorld(created, '/behind/a/proxy');
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map((id) => create(id))), ['a', 'b', 'c'].map(eventOf));
  assert.deepEqual(
    fake.seen.map(({ url }) => url),
    ['/behind/a/proxy/v1/calls'],
  );
  const calls = callsOf(fake.seen[0]);
  assert.deepEqual(
    calls.map(({ path }) => path),
    Array(3).fill('/v1/runs/r/events'),
  );
  assert.equal(new Set(calls.map(({ key }) => key)).size, 3);

  fake.next(json(200, eventOf('d')));
  assert.deepEqual(await create('d'), eventOf('d'));
  assert.equal(fake.seen[1]?.url, '/behind/a/proxy/v1/runs/r/events');
});

test('a bundle whose second call fails: a refusal is the error of that call, and a 503 is retried separately with the same key', async () => {
  const { fake, create } = await fakeWorld(created);
  fake.next(
    each((id) => {
      if (id === 'b') return { status: 409, body: { error: { name: 'EntityConflictError', message: 'there is one' } } };
      if (id === 'c') return { status: 503, body: { error: { code: 'unavailable' } }, retryAfter: '0' };
      return { status: 200, body: eventOf(id) };
    }),
    json(200, eventOf('c, again')),
  );
  const [a, b, c] = await Promise.allSettled([create('a'), create('b'), create('c')]);
  assert.deepEqual(a, { status: 'fulfilled', value: eventOf('a') });
  assert.equal(((b as PromiseRejectedResult).reason as Error).name, 'EntityConflictError');
  assert.deepEqual(c, { status: 'fulfilled', value: eventOf('c, again') });
  assert.equal(fake.seen.length, 2);
  assert.equal(fake.seen[1]?.headers['idempotency-key'], callsOf(fake.seen[0])[2]?.key);
});

test('a bundle that is cut, or answered with something else, is tried again with the same keys', async () => {
  for (const fault of [drop, json(503, {}), json(200, { ok: true })]) {
    const { fake, create } = await fakeWorld(created);
    // Asked again at times of their own, so alone or together.
    const answer: Answer = (response, seen) => (seen.url === '/v1/calls' ? created : json(200, eventOf('x')))(response, seen);
    fake.next(fault, answer, answer);
    await Promise.all([create('a'), create('b')]);
    const keys = fake.seen.flatMap((seen) => (seen.url === '/v1/calls' ? callsOf(seen).map(({ key }) => key) : [String(seen.headers['idempotency-key'])]));
    assert.equal(keys.length, 4);
    assert.equal(new Set(keys).size, 2);
  }
});

test('a service from before bundles gets separate calls', async () => {
  const { fake, create } = await fakeWorld((response, seen) => json(seen.url === '/v1/calls' ? 404 : 200, { event: {} })(response, seen));
  await Promise.all([create('a'), create('b')]);
  await Promise.all([create('c'), create('d')]);
  assert.deepEqual(
    fake.seen.map(({ url }) => url),
    ['/v1/calls', ...Array(4).fill('/v1/runs/r/events')],
  );
});

test('bundles are small: at most 32 calls, and large bodies are sent separately', async () => {
  const { fake, create } = await fakeWorld((response, seen) => (seen.url === '/v1/calls' ? created : json(200, {}))(response, seen));
  await Promise.all([...Array.from({ length: 65 }, (_, i) => create(`s${i}`)), create('large', new Uint8Array(40_000))]);
  const sizes = fake.seen.map((seen) => (seen.url === '/v1/calls' ? callsOf(seen).length : 1));
  assert.deepEqual(
    sizes.sort((a, b) => a - b),
    [1, 1, 32, 32],
  );
});

test('reads of single runs and steps are bundled, lists are not', async () => {
  const { fake, world } = await fakeWorld((response, seen) => (seen.url === '/v1/calls' ? json(404, {}) : json(200, { data: [] }))(response, seen));
  await Promise.all([world.runs.get('r', { resolveData: 'none' }), world.steps.get('r', 's'), world.events.list({ runId: 'r' })]);
  const [list, bundle] = fake.seen.slice(0, 2).sort((a, b) => a.method.localeCompare(b.method));
  assert.equal(list?.url, '/v1/runs/r/events');
  assert.deepEqual(
    callsOf(bundle).map(({ path, body }) => [path, body]),
    [
      ['/v1/runs/r?resolveData=none', undefined],
      ['/v1/runs/r/steps/s', undefined],
    ],
  );
});

test('calls of two tokens are never in one bundle', async () => {
  const { fake } = await fakeWorld(created);
  const worlds = ['one', 'two'].map((token) => createWorld({ url: fake.url, token }));
  await Promise.all([0, 1, 0, 1].map((who, i) => (worlds[who] as (typeof worlds)[0]).events.create('r', { eventType: 'step_created', correlationId: `${i}`, specVersion: 3 })));
  const whose = fake.seen.map((seen) => [seen.headers.authorization, callsOf(seen).map(idOf)]);
  assert.deepEqual(whose.sort(), [
    ['Bearer one', ['0', '2']],
    ['Bearer two', ['1', '3']],
  ]);
});
