/** Answers, messages and deliveries with something in them that cannot be shown, and such that are none at all. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createWorld, legacyCalls, part } from './helpers/client.js';
import { type Answer, Fake } from './helpers/fake.js';
import { newRunId } from './helpers/ids.js';
import { Real } from './helpers/real.js';

const { decode, encode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const real = Real.forThisFile();
const fakes: Fake[] = [];
after(async () => {
  for (const fake of fakes) {
    await createWorld({ url: fake.url }).close();
    await fake.stop();
  }
});

const unhex = (text: string) => Buffer.from(text, 'hex');
const unshown = (hex: string) => ({ __type: 'CBOR', data: unhex(hex).toString('base64') });
/** A map with a value that is CBOR already in place of each `{ hex }`. */
const withRaw = (value: unknown): Buffer => {
  if (Array.isArray(value)) return Buffer.concat([unhex(`99${value.length.toString(16).padStart(4, '0')}`), ...value.map(withRaw)]);
  if (typeof value !== 'object' || value === null) return Buffer.from(encode(value));
  if ('hex' in value) return unhex(value.hex as string);
  const entries = Object.entries(value);
  return Buffer.concat([unhex(`b9${entries.length.toString(16).padStart(4, '0')}`), ...entries.flatMap(([key, part]) => [Buffer.from(encode(key)), withRaw(part)])]);
};
const cbor =
  (body: Uint8Array): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/cbor' });
    response.end(body);
  };

async function fakeWorld(fallback: Answer) {
  const fake = await Fake.start(fallback);
  fakes.push(fake);
  return { fake, world: createWorld({ url: fake.url }) };
}

const BIGNUM = `c25a000186a0${'ff'.repeat(100_000)}`;
const BAD = { 'a date of text': 'c16161', 'floats of three bytes': 'd85643010203', 'a whole number of 100 KB': BIGNUM, 'a class': 'd81b82654572726f726162' };

for (const [name, hex] of Object.entries(BAD)) {
  test(`a stored value is read correctly, in CBOR and JSON, and does not affect its neighbours: ${name}`, async () => {
    const { url } = real.service;
    const world = await real.world(7);
    const ids = [newRunId(), newRunId(), newRunId()];
    for (const [i, id] of ids.entries()) {
      const input = i === 1 ? { hex } : 'good';
      const body = withRaw({ event: { eventType: 'run_created', specVersion: 7, eventData: { deploymentId: 'd', workflowName: `w ${name}`, input } } });
      const answer = await fetch(`${url}/v1/runs/${id}/events`, { method: 'POST', body, headers: { 'content-type': 'application/cbor', accept: 'application/cbor' } });
      assert.equal(answer.status, 200);
      const { event } = decode(new Uint8Array(await answer.arrayBuffer())) as { event: { eventData: { input: unknown } } };
      if (i === 1) assert.deepEqual(event.eventData.input, unshown(hex));
    }
    const { data } = await world.runs.list({ workflowName: `w ${name}` });
    assert.deepEqual(data.map(({ runId, input }: any) => [runId, input]).sort(), ids.map((id, i) => [id, i === 1 ? unshown(hex) : 'good']).sort());
    const [bad] = (await world.events.list({ runId: ids[1] as string })).data as { eventData: { input: unknown } }[];
    assert.deepEqual(bad?.eventData.input, unshown(hex));
    const inJSON = (await (await fetch(`${url}/v1/runs?workflowName=${encodeURIComponent(`w ${name}`)}`)).json()) as { data: { runId: string }[] };
    assert.deepEqual(inJSON.data.map(({ runId }) => runId).sort(), [...ids].sort());
  });
}

test('a delivery with such a value reaches its handler', async () => {
  const received: unknown[] = [];
  const handle = createWorld().createQueueHandler('__wkf_workflow_', async (message) => void received.push(message));
  const headers = { 'content-type': 'application/cbor', 'x-vqs-queue-name': '__wkf_workflow_w', 'x-vqs-message-id': 'msg_1', 'x-vqs-message-attempt': '1' };
  const post = (body: Buffer) => handle(new Request('http://app/flow', { method: 'POST', headers, body: new Uint8Array(body) }));
  assert.equal((await post(withRaw({ runId: 'r', input: { hex: 'c16161' } }))).status, 200);
  assert.deepEqual(received, [{ runId: 'r', input: unshown('c16161') }]);
  const refused = await post(unhex('a161'));
  assert.deepEqual([refused.status, await refused.json()], [400, { error: 'The message cannot be read: Error: not well-formed CBOR: it ends too early' }]);
});

test('an unreadable answer to one call of a bundle affects only that call', async () => {
  const ok = { status: 200, body: encode({ event: { eventId: 'e' } }) };
  const bundle = (broken: object): Answer => cbor(withRaw({ answers: [ok, broken, ok].map((one) => ('body' in one ? { hex: Buffer.from(encode(one)).toString('hex') } : one)) }));
  for (const broken of [{ hex: 'f6' }, { hex: '01' }, { hex: '80' }, { hex: 'c16161' }, { status: 'x' }, { hex: 'a2667374617475731900c864626f647901' }]) {
    const { fake, world } = await fakeWorld(cbor(ok.body));
    fake.next(bundle(broken));
    const create = (id: string) => world.events.create('r', { eventType: 'step_created', correlationId: id, specVersion: 3 });
    const answers = await Promise.all(['a', 'b', 'c'].map(create));
    assert.deepEqual(answers, Array(3).fill({ event: { eventId: 'e' } }));
    // Two of them had their answer in the bundle; the third asked again, as it does after a bad gateway.
    assert.deepEqual(
      fake.seen.map(({ url }) => url),
      ['/v1/calls', '/v1/runs/r/events'],
    );
  }
  const { fake, world } = await fakeWorld(cbor(ok.body));
  fake.next(bundle({ hex: Buffer.from(encode({ status: 200, body: unhex('a161') })).toString('hex') }));
  const create = (id: string) => world.events.create('r', { eventType: 'step_created', correlationId: id, specVersion: 3 });
  const [a, b, c] = await Promise.allSettled(['a', 'b', 'c'].map(create));
  assert.deepEqual([a?.status, c?.status], ['fulfilled', 'fulfilled']);
  assert.match(String((b as PromiseRejectedResult).reason), /\/v1\/runs\/r\/events answered 200 with something that is not an answer of world-redis/);
});

test('an answer that is unreadable, or has another form, is an error that names the call', async () => {
  const bodies = ['', 'a161', 'ff', '01', '80', 'f6', '6161', 'a0', 'a1646461746101', 'a16464617461f6', 'c16161', 'a167726573756c747301'];
  const { fake, world } = await fakeWorld(cbor(unhex('')));
  const legacy = legacyCalls(fake.url);
  const calls: [path: string, make: () => Promise<unknown>][] = [
    ['/v1/runs', () => world.runs.list()],
    ['/v1/runs/get', () => world.runs.getMany(['r'])],
    ['/v1/runs/r/steps', () => world.steps.list({ runId: 'r' })],
    ['/v1/runs/r/events', () => world.events.list({ runId: 'r' })],
    ['/v1/runs/r/events/batch', () => world.events.createBatch('r', [{ event: { eventType: 'step_created', correlationId: 's', specVersion: 7 } }] as never)],
    ['/v1/hooks', () => world.hooks.list()],
    ['/v1/runs/r/streams', () => world.streams.list('r')],
    ['/v1/streams/s/chunks', () => world.streams.getChunks('r', 's')],
  ];
  for (const [path, make] of calls) {
    for (const hex of bodies) {
      fake.next(cbor(unhex(hex)));
      await assert.rejects(make(), { message: new RegExp(`${path}(\\?.*)? answered (200 )?with something that is not an answer of world-redis`) }, `${path} ${hex}`);
    }
  }
  const single: [path: string, make: () => Promise<unknown>][] = [
    ['/v1/runs/r', () => world.runs.get('r')],
    ['/v1/hooks/by-token', () => world.hooks.getByToken('t')],
    ['/v1/streams/s/info', () => world.streams.getInfo('r', 's')],
    ['/v1/runs/r/attributes', () => world.runs.experimentalSetAttributes('r', [])],
    ['/v1/runs/cancel', () => world.runs.cancelMany(['r'] as never)],
    ['/v1/queue', () => world.queue('__wkf_workflow_w', {}, {})],
    ['/v1/legacy/runs/r/cancel', () => legacy.runs.cancel('r', undefined as never)],
  ];
  for (const [path, make] of single) {
    for (const hex of ['', 'a161', 'ff', '01', '80', 'f6', '6161']) {
      fake.next(cbor(unhex(hex)));
      await assert.rejects(make(), { message: new RegExp(`${path}(\\?.*)? answered 200 with something that is not an answer of world-redis`) }, `${path} ${hex}`);
    }
  }
});
