/** What is stored can always be read: a value that cannot be shown is its type and bytes, and hides nothing beside it. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { part } from './helpers/client.js';

const { encode, decode, decodeEnvelope } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const unhex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));
const unshown = (hex: string) => ({ __type: 'CBOR', data: Buffer.from(hex, 'hex').toString('base64') });
const bytesOf = (length: number, head: string) => head + length.toString(16).padStart(8, '0') + '01'.repeat(length);

const SHOWN: [hex: string, value: unknown][] = [
  ['00', 0],
  ['1818', 24],
  ['1903e8', 1000],
  ['1a000f4240', 1000000],
  ['1b000000e8d4a51000', 1000000000000],
  ['20', -1],
  ['3903e7', -1000],
  ['3affffffff', -4294967296],
  ['3b000000e8d4a50fff', -1000000000000],
  ['f93c00', 1],
  ['f9fc00', Number.NEGATIVE_INFINITY],
  ['f97e00', Number.NaN],
  ['f90001', 2 ** -24],
  ['f9c400', -4],
  ['fa47c35000', 100000],
  ['fb3ff199999999999a', 1.1],
  ['f4', false],
  ['f5', true],
  ['f6', null],
  ['f7', undefined],
  ['60', ''],
  ['63e6b0b4', '水'],
  ['64f0908591', '𐅑'],
  ['61ff', '�'], // as every decoder of UTF-8 has it that goes on
  ['63efbbbf', '\ufeff'],
  ['7f6161606162ff', 'ab'],
  ['5f41014102ff', new Uint8Array([1, 2])],
  ['9f01820203ff', [1, [2, 3]]],
  ['bf61610161629f02ffff', { a: 1, b: [2] }],
  ['a201f5f6f4', { 1: true, null: false }],
  ['a1695f5f70726f746f5f5f01', { __proto_: 1 }],
  ['c11a514b67b0', new Date(1363896240000)],
  ['c074323031332d30332d32315432303a30343a30305a', new Date('2013-03-21T20:04:00Z')],
  ['c249010000000000000000', 18446744073709551616n],
  ['c349010000000000000000', -18446744073709551617n],
  ['c240', 0n],
  ['d84043010203', new Uint8Array([1, 2, 3])],
  ['d8414400010203', new Uint16Array([1, 515])],
  ['d9010282010a', new Set([1, 10])],
  ['d90103a1010a', new Map([[1, 10]])],
  ['d90103bf010aff', new Map([[1, 10]])],
  ['d81b836652656745787061616169', /a/i],
  ['d9d9f701', 1], // what has no meaning here is passed over
  ['d82501', 1],
];

test('a value that JavaScript can represent becomes that value', () => {
  for (const [hex, value] of SHOWN) assert.deepEqual(decode(unhex(hex)), value, hex);
});

/** Each of them is well-formed. */
const UNSHOWN: Record<string, string> = {
  'a date of text': 'c16161',
  'a date in a date': 'c1c101',
  'a date beyond all dates': 'c1fb7fe0000000000000',
  'a date of NaN': 'c1f97e00',
  'a date text that is none': 'c06161',
  'a date text of a number': 'c001',
  'a bignum of text': 'c26161',
  'a bignum of 4097 bytes': bytesOf(4097, 'c25a'),
  'a negative bignum of 100 KB': bytesOf(100_000, 'c35a'),
  'floats of three bytes': 'd85643010203',
  'floats of text': 'd856616e',
  'a set of a map': 'd90102a0',
  'a map of a list': 'd9010380',
  'an error class': 'd81b82654572726f726162',
  'a regular expression that is none': 'd81b8366526567457870612860',
  'a regular expression of a list': 'd81b83665265674578708060',
  'a list that seems to be one': 'd81b820102',
  'simple value 5': 'e5',
  'simple value 255': 'f8ff',
};

test('a value that it cannot represent becomes its type and bytes, and its neighbours are not affected', () => {
  for (const [name, hex] of Object.entries(UNSHOWN)) {
    assert.deepEqual(decode(unhex(`a46161${hex}616282${hex}026163bf6161${hex}ff616403`)), { a: unshown(hex), b: [unshown(hex), 2], c: { a: unshown(hex) }, d: 3 }, name);
  }
});

test('the extensions of cbor-x, which any writer could trigger by a tag, have no effect', () => {
  // Shared references, packed values, records and their definitions, strings out of line: what is inside is shown.
  for (const head of ['d81c', 'd81d', 'c6', 'd833', 'd869', 'd9dff9', 'd9dffe', 'd9dfff', 'd8e1', 'c4', 'c5', 'ce']) {
    assert.deepEqual(decode(unhex(`83${head}8301020301${head}05`)), [[1, 2, 3], 1, 5], head);
  }
});

test('a key that is not text becomes text', () => {
  for (const hex of ['4101', 'a10102', '8101', 'c16161', 'bf616101ff', '5f4101ff', 'e5']) {
    assert.deepEqual(decode(unhex(`a2${hex}01616102`)), { [JSON.stringify(unshown(hex))]: 1, a: 2 }, hex);
  }
  assert.deepEqual(decode(unhex('a17f6161ff01')), { a: 1 });
});

test('keys are distinguished, even those of the same length with similar letters', () => {
  const names = ['abcde', 'abxde', 'aücde', 'a\0cde', 'äbcd', 'xbcde', '', 'a', 'ab'];
  for (const _ of [1, 2]) for (const name of names) assert.deepEqual(decode(encode({ [name]: 1 })), { [name]: 1 });
});

test('a value may have any depth', () => {
  for (const [open, close] of [
    ['81', ''],
    ['9f', 'ff'],
    ['a16161', ''],
    ['c1', ''],
    ['d81c', ''],
    ['d9010281', ''],
  ] as const) {
    const deep = `${open.repeat(200_000)}00${close.repeat(200_000)}`;
    const [first, second] = decode(unhex(`82${deep}05`)) as [unknown, number];
    assert.equal(second, 5, open);
    assert.equal(typeof first, 'object', open);
  }
  let level: unknown = decode(unhex(`${'81'.repeat(700)}05`));
  let depth = 0;
  for (; Array.isArray(level); level = level[0]) depth++;
  assert.deepEqual(level, unshown(`${'81'.repeat(700 - depth)}05`));
  // What the service takes is read as it is.
  assert.ok(depth > 520, `${depth}`);
});

test('only malformed bytes are an error', () => {
  const broken = [
    '',
    '18',
    '1c',
    '41',
    '61',
    '5b7fffffffffffffff',
    '7bffffffffffffffff01',
    '81',
    '9a7fffffff00',
    '9bffffffffffffffff',
    'ba7fffffff00',
    'bbffffffffffffffff',
    '9f',
    '9f01',
    'bf61',
    'bf6161ff',
    'ff',
    '81ff',
    '1f',
    'df',
    '5f61ff',
    '5f6161ff',
    '5f5f4101ffff',
    'c1',
    'c2',
    'f9',
    'fa000000',
    'fb00',
    'f8',
    '0000',
    'a1',
    'a161',
    'd856810102',
    'd90103ba7fffffff',
    'c1ff',
    'a1ff01',
  ];
  for (const hex of broken) assert.throws(() => decode(unhex(hex)), /^Error: not well-formed CBOR/, hex);
});

test('byte strings that own their memory, and views', () => {
  const message = unhex('8343010203d84041045f4105ff');
  for (const bytes of decode(message) as Uint8Array[]) assert.equal(bytes.buffer.byteLength, bytes.byteLength);
  assert.equal((decodeEnvelope(message) as Uint8Array[])[0]?.buffer, message.buffer);
  assert.equal(Object.getPrototypeOf((decode(Buffer.from(message)) as unknown[])[0]), Uint8Array.prototype);
});

test('the client reads what it writes', () => {
  const values = [
    new Map<unknown, unknown>([[{ a: 1 }, [2]]]),
    new Set(['a']),
    /x+/gu,
    new Float64Array([1.5]),
    new Int16Array([-1, 2]),
    new BigInt64Array([-5n]),
    2n ** 70n,
    -(2n ** 70n),
    new Date(1.5e12),
  ];
  assert.deepEqual(decode(encode({ values })), { values });
});

test('an app that uses cbor-x with extensions of its own is not changed, and changes nothing', () => {
  const { addExtension, decode: theirs } = createRequire(require.resolve('../package.json'))('cbor-x/index-no-eval') as typeof import('cbor-x', { with: {
    'resolution-mode': 'import',
  }});
  class Theirs {}
  addExtension({ Class: Theirs as never, tag: 1, encode: () => 0, decode: () => 'theirs' } as never);
  assert.equal(theirs(unhex('c101')), 'theirs');
  assert.deepEqual(decode(unhex('c101')), new Date(1000));
});
