/** BR-38: what is easily changed on the way. */

const everyByte = Uint8Array.from({ length: 256 }, (_, i) => i);

/** The opaque bytes that the SDK sends as inputs, outputs, errors, metadata and payloads. */
export const BYTES: Record<string, Uint8Array> = {
  'all 256 byte values': everyByte,
  'no bytes': new Uint8Array(0),
  'zero bytes': new Uint8Array(3),
  'a CBOR item': Uint8Array.from([0xa1, 0x61, 0x61, 0x01]),
  'the CBOR break and undefined': Uint8Array.from([0xff, 0xf7, 0xf6]),
  'JSON of a date': Buffer.from('"2024-01-01T00:00:00.000Z"'),
  'JSON of a number as text': Buffer.from('"9007199254740993"'),
  'JSON with half a surrogate pair': Buffer.from('"\\ud83d"'),
  'bytes that are no UTF-8': Uint8Array.from([0xed, 0xa0, 0xbd, 0xc0, 0x80]),
  'the tag of our JSON': Buffer.from('{"__type":"Uint8Array","data":"AQID"}'),
  base64: Buffer.from('AQIDBAUGBwg='),
  true: Buffer.from('true'),
  emoji: Buffer.from('👩‍👩‍👧 ü'),
};
for (const [name, bytes] of Object.entries(BYTES)) BYTES[name] = new Uint8Array(bytes); // and not Buffers

/** What stands as text or as a plain value in errors, in an executionContext, or in the payloads of old SDKs. */
export const VALUES: Record<string, unknown> = {
  'a date as text': '2024-01-01T00:00:00.000Z',
  'a number as text': '1',
  'true as text': 'true',
  'null as text': 'null',
  'empty text': '',
  'base64 as text': 'AQIDBAUGBwg=',
  'a null byte': 'a\u0000b',
  emoji: '👩‍👩‍👧 ü 🎉',
  '2^53 + 1 as text': '9007199254740993',
  'the largest safe number': Number.MAX_SAFE_INTEGER,
  'a negative one': Number.MIN_SAFE_INTEGER,
  'a fraction': 0.1,
  'a number beyond 32 bits': 1700000000123,
  'truth values': [true, false],
  'null in a list': [null, 1],
  'null in an object': { a: null },
  'an empty object and list': [{}, []],
  'our tag without data': { __type: 'Uint8Array' },
  'our tag with other data': { __type: 'Uint8Array', data: [1, 2] },
  'our tag with more': { __type: 'Uint8Array', data: 'AQID', more: 1 },
  'names of our timestamps': { createdAt: 5, startedAt: '2024-01-01T00:00:00.000Z', resumeAt: 1700000000123, retryAfter: null },
  'bytes in it': { deep: [everyByte, new Uint8Array(0)] },
};

/** What comes back as something else, on purpose. */
export const CHANGED: [name: string, sent: unknown, back: unknown][] = [
  ['undefined keys are left out', { a: undefined, b: { c: undefined, d: 1 } }, { b: { d: 1 } }],
  // UTF-8 has no halves of surrogate pairs; the SDK's payloads are bytes and not concerned.
  ['half a surrogate pair is replaced', 'cut \ud83d', 'cut \ufffd'],
];
