import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { part } from './helpers/client.js';

const { encode, decode, decodeJson } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const unhex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));

test('bytes are encoded as a plain byte string, whatever their class was', () => {
  assert.equal(hex(encode(new Uint8Array([1, 2, 3]))), '43010203');
  assert.equal(hex(encode(Buffer.from([1, 2, 3]))), '43010203');
  assert.equal(hex(encode(new Uint8Array(0))), '40');
});

test('bytes come back as plain Uint8Arrays that own their memory, so that the SDK may transfer them', () => {
  const message = encode({ a: new Uint8Array([1, 2]), b: { c: new Uint8Array(0) } });
  const value = decode(message) as { a: Uint8Array; b: { c: Uint8Array } };
  for (const bytes of [value.a, value.b.c]) {
    assert.equal(Object.getPrototypeOf(bytes), Uint8Array.prototype);
    assert.equal(bytes.byteOffset, 0);
    assert.equal(bytes.buffer.byteLength, bytes.byteLength);
  }
  assert.deepEqual(value.a, new Uint8Array([1, 2]));
  structuredClone(value.a, { transfer: [value.a.buffer] });
  assert.deepEqual(value.b.c, new Uint8Array(0));
});

test('tagged bytes of another encoder are bytes too', () => {
  assert.deepEqual(decode(unhex('d84043010203')), new Uint8Array([1, 2, 3]));
});

test('a date keeps every millisecond through a queue message', () => {
  for (const ms of [1700000000123, 1700000000000, 1759999999999, 1, 1234567890123]) {
    const back = decode(encode({ requestedAt: new Date(ms) })) as { requestedAt: Date };
    assert.ok(back.requestedAt instanceof Date);
    assert.equal(back.requestedAt.getTime(), ms);
  }
});

test('a 64-bit integer from Go is a number, not a BigInt', () => {
  assert.equal(decode(unhex('1b0000018bcfe5687b')), 1700000000123);
});

test('undefined keys are left out at every depth, null is kept', () => {
  assert.equal(hex(encode({ a: undefined, b: null })), 'b900016162f6');
  assert.deepEqual(decode(encode({ x: { y: undefined, z: [{ w: undefined, v: 1 }] } })), { x: { z: [{ v: 1 }] } });
});

test('values made inside a workflow VM are encoded like our own', () => {
  const foreign = runInNewContext('({ bytes: new Uint8Array([7]), date: new Date(1700000000123), error: new TypeError("no"), gone: undefined })') as unknown;
  const back = decode(encode(foreign)) as { bytes: Uint8Array; date: Date; error: { name: string; message: string } };
  assert.deepEqual(Object.keys(back), ['bytes', 'date', 'error']);
  assert.deepEqual(back.bytes, new Uint8Array([7]));
  assert.equal(back.date.getTime(), 1700000000123);
  assert.equal(back.error.name, 'TypeError');
  assert.equal(back.error.message, 'no');
});

test('objects are plain maps, not records that only cbor-x can read', () => {
  assert.equal(hex(encode([{ a: 1 }, { a: 2 }])), '82b90001616101b90001616102');
});

test('tagged bytes in JSON become bytes, other objects stay', () => {
  const others = { q: { __type: 'Other', data: 'AQID' }, r: { __type: 'Uint8Array', data: 'AQID', more: 1 }, s: { __type: 'Uint8Array' } };
  const value = decodeJson(JSON.stringify({ p: { __type: 'Uint8Array', data: 'AQID' }, ...others }));
  assert.deepEqual(value, { p: new Uint8Array([1, 2, 3]), ...others });
});

test('half a surrogate pair is replaced, short text or long, so that the message stays readable', () => {
  for (const filler of ['', 'x'.repeat(500)]) {
    assert.equal(decode(encode(`${filler}cut \ud83d`)), `${filler}cut \ufffd`);
    assert.equal(decode(encode(`${filler}whole 🎉`)), `${filler}whole 🎉`);
  }
  assert.equal(hex(encode('\ud83d')), '63efbfbd');
});
