import { types } from 'node:util';
import type * as CborX from 'cbor-x' with { 'resolution-mode': 'import' };
import { readCbor } from './cborReader.js';
import { wellFormed } from './text.js';

// The pure JavaScript build: the same on every machine, without the optional native addon and generated code. It is
// required by hand because its typings declare it an ES module only.
const { Encoder } = require('cbor-x/index-no-eval') as typeof CborX;

/** The content type of calls, answers and queue messages. */
export const CBOR = 'application/cbor';

// Each option removes a difference between cbor-x and a plain CBOR peer: records are a private extension, and tagged
// bytes would come back in two forms. Only the encoder is used; cborReader.ts says why.
const coder = new Encoder({ useRecords: false, tagUint8Array: false, mapsAsObjects: true });

/** Encodes a value, after {@link toWire}. */
export function encode(value: unknown): Uint8Array {
  return coder.encode(toWire(value));
}

/**
 * Decodes one data item. Byte strings become plain `Uint8Array`s that own their memory, because the SDK transfers
 * them and reads `.buffer`. Throws only for malformed bytes.
 */
export function decode(bytes: Uint8Array): unknown {
  return readCbor(bytes, false);
}

/** The same, but byte strings are views of `bytes`: for an envelope whose parts are then decoded. */
export function decodeEnvelope(bytes: Uint8Array): unknown {
  return readCbor(bytes, true);
}

/** Encodes JSON for {@link decodeJson}, with tagged bytes and dates in ISO 8601. */
export function encodeJson(value: unknown): string {
  return JSON.stringify(toWire(value), (_key, part: unknown) =>
    types.isUint8Array(part) ? { __type: 'Uint8Array', data: Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('base64') } : part,
  );
}

/**
 * Parses JSON and converts tagged bytes back into `Uint8Array`s, and what the service could not express in JSON
 * (`{"__type":"CBOR"}`) into the value of its CBOR.
 */
export function decodeJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) => {
    if (isTagged(value, 'Uint8Array')) return new Uint8Array(Buffer.from(value.data, 'base64'));
    return isTagged(value, 'CBOR') ? decodeTagged(value) : value;
  });
}

function isTagged(value: unknown, type: string): value is { data: string } {
  const tagged = value as { __type?: unknown; data?: unknown } | null;
  if (typeof tagged !== 'object' || tagged?.__type !== type || typeof tagged.data !== 'string') return false;
  return Object.keys(tagged).length === 2; // with more keys it is a caller's object, which would lose them
}

/** An object that only looks like tagged CBOR is a caller's and stays. */
function decodeTagged(value: { data: string }): unknown {
  try {
    return decode(Buffer.from(value.data, 'base64'));
  } catch {
    return value;
  }
}

/**
 * A copy that every CBOR decoder reads in the same way. Keys whose value is undefined are left out: CBOR would encode
 * them as "undefined", which other decoders turn into null, and the SDK distinguishes null from absent. Values from
 * another realm (the SDK runs workflows in `node:vm`) are recognised by their type, not by `instanceof`, and
 * converted to this realm if the encoder would misread them.
 */
function toWire(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value !== 'object' || value === null) return value;
  if (types.isUint8Array(value)) return value instanceof Uint8Array ? value : new Uint8Array(value);
  if (types.isDate(value)) return value instanceof Date ? value : new Date(Number(value));
  if (Array.isArray(value)) return value.map(toWire);
  if (types.isNativeError(value)) {
    return toWire({ name: value.name, message: value.message, stack: value.stack });
  }
  if (!isPlainObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (value[key] !== undefined) copy[key] = toWire(value[key]);
  }
  return copy;
}

function isPlainObject(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
