/** Who may make an app run something: whoever has a key of the service, once for each signature, within five minutes. */
import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { runChild } from './helpers/child.js';
import { createWorld, part } from './helpers/client.js';

const { SeenNonces } = part<typeof import('../build/delivery/seenNonces.js')>('delivery/seenNonces');
const { refusalOfDelivery, signingKeys, WINDOW_MS } = part<typeof import('../build/delivery/signature.js')>('delivery/signature');

const KEY = 'a-key-of-at-least-16';
const FLOW = '__wkf_workflow_';
const BODY = '{"runId":"r"}';

interface Signed {
  key?: string | Buffer;
  t?: number;
  nonce?: string;
  kind?: string;
  messageId?: string;
  queueName?: string;
  attempt?: string;
  type?: string;
  body?: string;
}

/** Signs as docs/protocol.md says, written down here once more. */
function signature(s: Signed = {}): string {
  const { key = KEY, t = Date.now(), nonce = randomBytes(16).toString('hex') } = s;
  const { kind = 'flow', messageId = 'msg_1', queueName = `${FLOW}w`, attempt = '1', type = 'application/json', body = BODY } = s;
  const hash = createHash('sha256').update(body).digest('hex');
  const text = `v1\n${t}\n${nonce}\n${kind}\n${messageId}\n${queueName}\n${attempt}\n${type}\n${hash}`;
  return `t=${t},n=${nonce},v1=${createHmac('sha256', key).update(text).digest('hex')}`;
}

function delivery(signed: string | undefined, changes: Record<string, string> = {}, body = BODY): Request {
  const headers = {
    'content-type': 'application/json',
    'x-vqs-queue-name': `${FLOW}w`,
    'x-vqs-message-id': 'msg_1',
    'x-vqs-message-attempt': '1',
    ...(signed !== undefined && { 'x-world-signature': signed }),
    ...changes,
  };
  return new Request('http://app/.well-known/workflow/v1/flow', { method: 'POST', headers, body });
}

function handlerWith(options: Parameters<typeof createWorld>[0], prefix = FLOW) {
  let runs = 0;
  const handle = createWorld(options).createQueueHandler(prefix, async () => void runs++);
  return { handle, runs: () => runs };
}

const withoutKey = { token: '', signingKey: '' };

async function refused(response: Response, reason: RegExp) {
  assert.equal(response.status, 401);
  assert.equal(response.headers.get('www-authenticate'), 'World-Signature');
  assert.match(((await response.json()) as { error: string }).error, reason);
}

test('deliveries signed by the service run', async () => {
  const { handle, runs } = handlerWith({ signingKey: KEY });
  assert.equal((await handle(delivery(signature()))).status, 200);
  assert.equal(runs(), 1);
});

test('forged deliveries run nothing', async () => {
  const { handle, runs } = handlerWith({ signingKey: KEY });
  const signedAt = Date.now();
  const [good, zeros] = [signature({ t: signedAt }), '0'.repeat(64)];
  const long = WINDOW_MS + 1_000;
  const cases: [string, Request, RegExp][] = [
    ['no signature', delivery(undefined), /is missing/],
    ['an empty one', delivery(''), /cannot be read/],
    ['no signature in it', delivery(`t=${Date.now()},n=${'n'.repeat(16)}`), /cannot be read/],
    ['no nonce', delivery(`t=${Date.now()},v1=${zeros}`), /cannot be read/],
    ['two nonces', delivery(`${good},n=${'n'.repeat(16)}`), /cannot be read/],
    ['a timestamp that is none', delivery(`t=now,n=${'n'.repeat(16)},v1=${zeros}`), /cannot be read/],
    ['zeros', delivery(`t=${Date.now()},n=${'n'.repeat(16)},v1=${zeros}`), /is wrong/],
    ['another key', delivery(signature({ key: `${KEY}.` })), /is wrong/],
    ['another body', delivery(good, {}, '{"runId":"s"}'), /is wrong/],
    ['no body', delivery(good, {}, ''), /is wrong/],
    ['another message', delivery(good, { 'x-vqs-message-id': 'msg_2' }), /is wrong/],
    ['another queue', delivery(good, { 'x-vqs-queue-name': `${FLOW}v` }), /is wrong/],
    ['another attempt', delivery(good, { 'x-vqs-message-attempt': '2' }), /is wrong/],
    ['another type', delivery(good, { 'content-type': 'application/cbor' }), /is wrong/],
    ['another timestamp', delivery(good.replace(`t=${signedAt}`, `t=${signedAt - 7}`)), /is wrong/],
    ['another nonce', delivery(good.replace(/n=\w/, 'n=x')), /is wrong/],
    ['for the other route', delivery(signature({ kind: 'step' })), /is wrong/],
    ['ten minutes old', delivery(signature({ t: Date.now() - 600_000 })), /too old/],
    ['just too old', delivery(signature({ t: Date.now() - long })), /too old/],
    ['from the future', delivery(signature({ t: Date.now() + WINDOW_MS + 60_000 })), /from the future/],
  ];
  for (const [name, request, reason] of cases) {
    await refused(await handle(request), reason).catch((error) => assert.fail(`${name}: ${error.message}`));
  }
  assert.equal(runs(), 0);
  assert.equal((await handle(delivery(good))).status, 200, 'none of them used up the good one');
});

test('an unsigned request gets no information about the handler, and its body is not read', async () => {
  const { handle } = handlerWith({ signingKey: KEY });
  const request = delivery(undefined, { 'x-vqs-queue-name': '__wkf_step_x' });
  await refused(await handle(request), /is missing/);
  assert.equal(request.bodyUsed, false);
});

test('the same delivery twice runs once, also by way of another bundle of the app', async () => {
  const one = handlerWith({ signingKey: KEY });
  const two = handlerWith({ signingKey: KEY });
  const twice = signature({ t: Date.now() - 60_000 });
  assert.equal((await one.handle(delivery(twice))).status, 200);
  await refused(await one.handle(delivery(twice)), /received before/);
  await refused(await two.handle(delivery(twice)), /received before/);
  assert.deepEqual([one.runs(), two.runs()], [1, 0]);
});

test('during a rotation one common key of both sides is enough', async () => {
  const both = (() => {
    const [t, nonce] = [Date.now(), 'n'.repeat(20)];
    return `${signature({ t, nonce, key: 'the-new-key-is-this' })},${signature({ t, nonce }).split(',')[2]}`;
  })();
  for (const [signingKey, status] of [
    ['another, the-new-key-is-this', 200],
    ['neither of the two', 401],
  ] as const) {
    assert.equal((await handlerWith({ signingKey }).handle(delivery(both))).status, status, signingKey);
  }
  const { handle } = handlerWith({ signingKey: `first-key-of-them, ${KEY}` });
  assert.equal((await handle(delivery(signature()))).status, 200);
});

test('without a signing key, a key is derived from each token', async () => {
  const derived = createHmac('sha256', 'token-2').update('world-redis delivery signature v1').digest();
  const { handle } = handlerWith({ token: 'token-1,token-2', signingKey: '' });
  assert.equal((await handle(delivery(signature({ key: derived })))).status, 200);
  assert.equal((await handle(delivery(signature({ key: 'token-2' })))).status, 401, 'the token itself does not sign');
  assert.equal((await handlerWith({ token: 'token-2', signingKey: KEY }).handle(delivery(signature({ key: derived })))).status, 401);
});

test('a step is signed as a step, and a non-ASCII name as it is in the header', async () => {
  const { handle } = handlerWith({ signingKey: KEY }, '__wkf_step_');
  const queueName = '__wkf_step_step//./gr%C3%B6%C3%9Fe.ts//add';
  const request = () => delivery(signature({ kind: 'step', queueName }), { 'x-vqs-queue-name': queueName });
  assert.equal((await handle(request())).status, 200);
});

test('without any key every request is accepted', async () => {
  const { handle, runs } = handlerWith(withoutKey);
  assert.equal((await handle(delivery(undefined))).status, 200);
  assert.equal(runs(), 1);
});

test('an app without a key says so once, when its service signs or it is in production', async () => {
  const deliver = (headers: string) => `
    const handle = createWorld().createQueueHandler('__wkf_workflow_', async () => {});
    const headers = { 'x-vqs-queue-name': '__wkf_workflow_w', 'x-vqs-message-id': 'm', 'x-vqs-message-attempt': '1', ${headers} };
    const once = () => handle(new Request('http://a', { method: 'POST', headers, body: '{}' }));
    once().then(once).then((r) => { if (r.status !== 200) throw r.status; });`;
  const stderr = async (env: Record<string, string>, headers = '') => (await runChild(deliver(headers), env)).stderr;
  assert.match(await stderr({ NODE_ENV: 'production' }), /^\[world-redis\] WARNING: this is production, but [^\n]+\n$/);
  assert.match(await stderr({}, `'x-world-signature': 't=1'`), /^\[world-redis\] WARNING: the service signs [^\n]+\n$/);
  assert.equal(await stderr({}), '');
});

test('the memory of nonces is bounded: a delivery whose nonce may have been forgotten is refused', () => {
  const seen = new SeenNonces(1_000, 3);
  for (let i = 0; i < 5; i++) assert.equal(seen.add(`n${i}`, 100 + i, 100), true);
  assert.equal(seen.add('n0', 100, 100), false, 'forgotten, but not forgiven');
  assert.equal(seen.add('n1', 101, 100), false);
  assert.equal(seen.add('n4', 104, 100), false, 'still known');
  assert.equal(seen.add('other', 101, 100), false, 'as old as one that was forgotten');
  assert.equal(seen.add('later', 102, 100), true);
});

test('expired nonces are removed completely', () => {
  const seen = new SeenNonces(1_000, 3);
  for (let i = 0; i < 100; i++) assert.equal(seen.add(`n${i}`, i * 600, i * 600), true);
  assert.equal(seen.add('older', 99 * 600 - 900, 99 * 600), true);
});

test('the example of docs/protocol.md', () => {
  const value = '777c4533ae14c87d0eff30355b73ae00a8a0b81173683bbdfecbab0fec99413f';
  const { headers } = delivery(`t=1700000000123,n=ABCDEFGHIJKLMNOPQRSTUVWXYZ,v1=${value}`, { 'x-vqs-queue-name': `${FLOW}order` });
  const keys = signingKeys({ signingKeys: [], tokens: ['token'] });
  assert.equal(keys[0]?.toString('hex'), 'ec6564c6eceec34dd391e53322b08df4c86fdd5bf06c0057c302ee210b214524');
  assert.equal(refusalOfDelivery(headers, 'flow', Buffer.from('{"runId":"wrun_1"}'), keys, 1700000000124), undefined);
});
