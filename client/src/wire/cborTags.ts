import { endianness } from 'node:os';

/**
 * What the tags that the client's encoder writes stand for. A content that does not fit its tag, or that would be too expensive to
 * convert, is {@link UNFIT}; the reader then shows its bytes.
 */
export const UNFIT = Symbol();

/** Larger integers, in bytes, do not become a BigInt: the time to print one grows with the square of its size. */
const MAX_BIGNUM_BYTES = 4096;
/** A longer regular expression, in characters, is not converted. */
const MAX_REGEXP_LENGTH = 4096;

/** A date, from the text of tag 0 or the milliseconds of tag 1. */
export function dateOf(timestamp: string | number): unknown {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? UNFIT : date;
}

/** An integer, from the bytes of tag 2, or of tag 3 for a negative one. */
export function bignumOf(tag: number, bytes: Uint8Array): unknown {
  if (bytes.byteLength > MAX_BIGNUM_BYTES) return UNFIT;
  const n = BigInt(`0x0${hex(bytes)}`);
  return tag === 2 ? n : -1n - n;
}

function hex({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('hex');
}

/** A regular expression, from the content of tag 27. */
export function regExpOf(source: string, flags: string): unknown {
  if (source.length > MAX_REGEXP_LENGTH) return UNFIT;
  try {
    return new RegExp(source, flags);
  } catch {
    return UNFIT;
  }
}

type TypedArray =
  | typeof Uint8Array
  | typeof Uint8ClampedArray
  | typeof Int8Array
  | typeof Uint16Array
  | typeof Int16Array
  | typeof Uint32Array
  | typeof Int32Array
  | typeof BigUint64Array
  | typeof BigInt64Array
  | typeof Float32Array
  | typeof Float64Array;

/** The tags of RFC 8746 for which JavaScript has a class, big-endian ones first. */
export const typedArrays = new Map<number, TypedArray>([
  [64, Uint8Array],
  [65, Uint16Array],
  [66, Uint32Array],
  [67, BigUint64Array],
  [68, Uint8ClampedArray],
  [69, Uint16Array],
  [70, Uint32Array],
  [71, BigUint64Array],
  [72, Int8Array],
  [73, Int16Array],
  [74, Int32Array],
  [75, BigInt64Array],
  [77, Int16Array],
  [78, Int32Array],
  [79, BigInt64Array],
  [81, Float32Array],
  [82, Float64Array],
  [85, Float32Array],
  [86, Float64Array],
]);

/** A typed array that owns its memory, from the bytes of its tag. */
export function typedArrayOf(tag: number, ArrayType: TypedArray, bytes: Uint8Array): unknown {
  const size = ArrayType.BYTES_PER_ELEMENT;
  if (bytes.byteLength % size !== 0) return UNFIT;
  const own = new Uint8Array(bytes);
  if (size > 1 && isBigEndian(tag) !== (endianness() === 'BE')) swap(own, size);
  return new ArrayType(own.buffer);
}

/** A bit of the tag says it. */
function isBigEndian(tag: number): boolean {
  return (tag & 4) === 0;
}

function swap({ buffer }: Uint8Array, size: number): void {
  const bytes = Buffer.from(buffer);
  if (size === 2) bytes.swap16();
  else if (size === 4) bytes.swap32();
  else bytes.swap64();
}
