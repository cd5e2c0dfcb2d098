import { types } from 'node:util';
import type * as CborX from 'cbor-x' with { 'resolution-mode': 'import' };
import { readCbor } from './cborReader.js';
import { wellFormed } from './text.js';

// The pure JavaScript build: the same on every machine, with neither the optional native addon nor generated code.
// Required by hand because its typings claim that it is an ES module only.
const { Encoder } = require('cbor-x/index-no-eval') as typeof CborX;

/** The content type of calls, answers and queue messages. */
export const CBOR = 'application/cbor';

// Each option closes a gap between cbor-x and a plain CBOR peer: records are a private extension, and tagged bytes
// would come back in two forms. Only its encoder is used: cborReader.ts says why.
const coder = new Encoder({ useRecords: false, tagUint8Array: false, mapsAsObjects: true });

/** Encodes a value, after {@link toWire}. */
export function encode(value: unknown): Uint8Array {
  return coder.encode(toWire(value));
}

/**
 * Decodes one data item. Byte strings become plain `Uint8Array`s that own their memory, because the SDK transfers
 * them and reads `.buffer`. Throws only for what is no item.
 */
export function decode(bytes: Uint8Array): unknown {
  return readCbor(bytes, false);
}

/** The same, but byte strings are views of `bytes`: for an envelope whose parts are decoded in turn. */
export function decodeEnvelope(bytes: Uint8Array): unknown {
  return readCbor(bytes, true);
}

/** Writes JSON, with bytes tagged and dates as ISO 8601; what {@link decodeJson} reads. */
export function encodeJson(value: unknown): string {
  return JSON.stringify(toWire(value), (_key, part: unknown) =>
    types.isUint8Array(part) ? { __type: 'Uint8Array', data: Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('base64') } : part,
  );
}

/** Parses JSON, turning tagged bytes back into `Uint8Array`s. */
export function decodeJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) => {
    if (isTaggedBytes(value)) return new Uint8Array(Buffer.from(value.data, 'base64'));
    return value;
  });
}

function isTaggedBytes(value: unknown): value is { data: string } {
  const tagged = value as { __type?: unknown; data?: unknown } | null;
  if (typeof tagged !== 'object' || tagged?.__type !== 'Uint8Array' || typeof tagged.data !== 'string') return false;
  return Object.keys(tagged).length === 2; // with more it is somebody's own object, which would lose the rest
}

/**
 * A copy that every CBOR decoder reads alike. Keys whose value is undefined are left out: CBOR would carry them as
 * "undefined", which others turn into null, and the SDK tells null and absent apart. Values made in another realm (the
 * SDK runs workflows in `node:vm`) are recognised by what they are, not by `instanceof`, and brought into this one
 * where the encoder would mistake them.
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
