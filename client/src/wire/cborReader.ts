import { bignumOf, dateOf, regExpOf, typedArrayOf, typedArrays, UNFIT } from './cborTags.js';

/**
 * Reads CBOR. Values are stored as the bytes that were written, so the reader accepts any well-formed item. A value
 * that JavaScript cannot represent, or that would be too expensive to convert, becomes an {@link Unshown}, and the
 * values beside it are not affected. Only malformed bytes are an error. No value makes the reader call code of its
 * own, and the time grows with the number of bytes, not with the lengths that they declare.
 *
 * cbor-x's own decoder does none of this: one invalid date fails the whole answer, and an integer of 100 KB takes
 * seconds.
 */

/** A value as its type and bytes (base64), in the same form as in the service's JSON. */
interface Unshown {
  __type: 'CBOR';
  data: string;
}

/** The service accepts values of 512 levels, and answers add a few. */
const MAX_DEPTH = 600;

const INDEFINITE = 31;
const BREAK = 0xff;

const UINT = 0;
const NEGATIVE = 1;
const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const TAG = 6;
const SIMPLE = 7;

/** Reads one item, which must be all of the bytes. With `views`, byte strings are views of `bytes`; otherwise they own their memory. */
export function readCbor(bytes: Uint8Array, views: boolean): unknown {
  return new Reader(bytes, views).whole();
}

class Reader {
  /** A plain array, since a slice of a Buffer would be a Buffer. */
  readonly #bytes: Uint8Array;
  readonly #buffer: Buffer;
  readonly #view: DataView;
  readonly #end: number;
  readonly #views: boolean;
  #at = 0;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array, views: boolean) {
    this.#bytes = new Uint8Array(buffer, byteOffset, byteLength);
    this.#buffer = Buffer.from(buffer, byteOffset, byteLength);
    this.#view = new DataView(buffer, byteOffset, byteLength);
    this.#end = byteLength;
    this.#views = views;
  }

  whole(): unknown {
    const value = this.#item(0);
    if (this.#at !== this.#end) throw malformed('there are bytes after the item');
    return value;
  }

  #item(depth: number): unknown {
    const start = this.#at;
    if (depth > MAX_DEPTH) return this.#unshown(start);
    const initial = this.#initial();
    const [major, info] = [initial >> 5, initial & 31];
    if (major === SIMPLE) return this.#simple(start, info);
    if (info === INDEFINITE) return this.#indefinite(major, depth);
    const n = this.#argument(info);
    switch (major) {
      case UINT:
        return n;
      case NEGATIVE:
        return -1 - n;
      case BYTES:
        return this.#byteString(n);
      case TEXT:
        return this.#text(n);
      case ARRAY:
        return this.#array(n, depth);
      case MAP:
        return this.#object(n, depth);
      default:
        return this.#tagged(start, n, depth);
    }
  }

  #initial(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw malformed('it ends too early');
    return byte;
  }

  /** The number after an initial byte. From 2^53 on it is not exact, like all numbers here. */
  #argument(info: number): number {
    if (info < 24) return info;
    if (info > 27) throw malformed(`a head ends in ${info}`);
    const at = this.#at;
    const size = 1 << (info - 24);
    this.#at += size;
    if (this.#at > this.#end) throw malformed('it ends too early');
    switch (size) {
      case 1:
        return this.#bytes[at] as number;
      case 2:
        return this.#view.getUint16(at);
      case 4:
        return this.#view.getUint32(at);
      default:
        return this.#view.getUint32(at) * 0x1_0000_0000 + this.#view.getUint32(at + 4);
    }
  }

  /** Throws unless count bytes are left. A length is checked before memory is allocated for it. */
  #need(count: number): void {
    if (count > this.#end - this.#at) throw malformed('it ends too early');
  }

  #byteString(n: number): Uint8Array {
    this.#need(n);
    const from = this.#at;
    this.#at += n;
    return this.#views ? this.#bytes.subarray(from, this.#at) : this.#bytes.slice(from, this.#at);
  }

  #text(n: number): string {
    this.#need(n);
    const from = this.#at;
    this.#at += n;
    return this.#buffer.toString('utf8', from, this.#at);
  }

  #array(n: number, depth: number): unknown[] {
    this.#need(n);
    const list: unknown[] = [];
    for (let i = 0; i < n; i++) list.push(this.#item(depth + 1));
    return list;
  }

  #object(n: number, depth: number): object {
    this.#need(2 * n);
    const object: Record<string, unknown> = {};
    for (let i = 0; i < n; i++) object[this.#key()] = this.#item(depth + 1);
    return object;
  }

  #map(depth: number): Map<unknown, unknown> {
    const map = new Map<unknown, unknown>();
    const info = this.#initial() & 31;
    const n = info === INDEFINITE ? Number.POSITIVE_INFINITY : this.#argument(info);
    if (info !== INDEFINITE) this.#need(2 * n);
    for (let i = 0; i < n && !(info === INDEFINITE && this.#atBreak()); i++) {
      const key = this.#item(depth + 1);
      map.set(key, this.#item(depth + 1));
    }
    return map;
  }

  #atBreak(): boolean {
    if (this.#bytes[this.#at] !== BREAK) return false;
    this.#at++;
    return true;
  }

  #indefinite(major: number, depth: number): unknown {
    switch (major) {
      case BYTES:
      case TEXT: {
        const parts: Uint8Array[] = [];
        while (!this.#atBreak()) {
          const initial = this.#initial();
          if (initial >> 5 !== major) throw malformed('a string has a part of another type');
          const n = this.#argument(initial & 31);
          this.#need(n);
          parts.push(this.#bytes.subarray(this.#at, (this.#at += n)));
        }
        const whole = Buffer.concat(parts);
        return major === TEXT ? whole.toString() : new Uint8Array(whole);
      }
      case ARRAY: {
        const list: unknown[] = [];
        while (!this.#atBreak()) list.push(this.#item(depth + 1));
        return list;
      }
      case MAP: {
        const object: Record<string, unknown> = {};
        while (!this.#atBreak()) object[this.#key()] = this.#item(depth + 1);
        return object;
      }
      default:
        throw malformed('a head ends in 31');
    }
  }

  /** A key of an object. A key that is neither text nor a scalar becomes the text of its {@link Unshown}. */
  #key(): string {
    const start = this.#at;
    const initial = this.#bytes[start] ?? 0;
    const major = initial >> 5;
    if (major === TEXT && initial !== 0x7f) {
      this.#at++;
      const n = this.#argument(initial & 31);
      return safe(n < CACHED_KEY_BYTES ? this.#shortKey(n) : this.#text(n));
    }
    const isPlain = major === TEXT || major === UINT || major === NEGATIVE || major === SIMPLE;
    const value = isPlain ? this.#item(0) : this.#unshown(start);
    return typeof value === 'object' && value !== null ? JSON.stringify(value) : safe(String(value));
  }

  /** Answers repeat the same few keys, so those are neither decoded nor allocated each time. */
  #shortKey(n: number): string {
    this.#need(n);
    const bytes = this.#bytes;
    const at = this.#at;
    const slot = (n * 31 + (bytes[at] ?? 0) * 7 + (bytes[at + n - 1] ?? 0) * 3 + (bytes[at + (n >> 1)] ?? 0)) & (KEY_SLOTS - 1);
    const known = keys[slot];
    if (known !== undefined && known.length === n) {
      let i = 0;
      while (i < n && known.charCodeAt(i) === bytes[at + i]) i++;
      if (i === n && isAscii(bytes, at, n)) {
        this.#at += n;
        return known;
      }
    }
    const text = this.#text(n);
    if (text.length === n && isAscii(bytes, at, n)) keys[slot] = text;
    return text;
  }

  #simple(start: number, info: number): unknown {
    switch (info) {
      case 20:
        return false;
      case 21:
        return true;
      case 22:
        return null;
      case 23:
        return undefined;
      case 25: {
        this.#need(2);
        const half = this.#view.getUint16(this.#at);
        this.#at += 2;
        return fromHalf(half);
      }
      case 26:
        this.#need(4);
        this.#at += 4;
        return this.#view.getFloat32(this.#at - 4);
      case 27:
        this.#need(8);
        this.#at += 8;
        return this.#view.getFloat64(this.#at - 8);
      case INDEFINITE:
        throw malformed('a break ends nothing');
      default:
        return this.#unshown(start);
    }
  }

  #tagged(start: number, tag: number, depth: number): unknown {
    const value = this.#content(tag, depth);
    return value === UNFIT ? this.#unshown(start) : value;
  }

  /** The value of a tagged content, for the tags that the client's encoder writes. Other tags are ignored, and the content is returned. */
  #content(tag: number, depth: number): unknown {
    const initial = this.#bytes[this.#at] ?? 0;
    const major = initial >> 5;
    const ArrayType = typedArrays.get(tag);
    if (ArrayType) return major === BYTES ? typedArrayOf(tag, ArrayType, this.#item(0) as Uint8Array) : UNFIT;
    switch (tag) {
      case 0:
        return major === TEXT ? dateOf(this.#item(depth + 1) as string) : UNFIT;
      case 1: {
        const isNumber = major === UINT || major === NEGATIVE || (initial >= 0xf9 && initial <= 0xfb);
        return isNumber ? dateOf(Math.round((this.#item(depth + 1) as number) * 1000)) : UNFIT;
      }
      case 2:
      case 3:
        return major === BYTES ? bignumOf(tag, this.#item(depth + 1) as Uint8Array) : UNFIT;
      case 27:
        return this.#regExp();
      case 258:
        return major === ARRAY ? new Set(this.#item(depth + 1) as unknown[]) : UNFIT;
      case 259:
        return major === MAP ? this.#map(depth + 1) : UNFIT;
      default:
        return this.#item(depth + 1);
    }
  }

  /** `["RegExp", source, flags]`; other representations of class instances are not converted. */
  #regExp(): unknown {
    const initial = this.#initial();
    if (initial !== 0x83) return UNFIT;
    const texts: string[] = [];
    for (let i = 0; i < 3; i++) {
      if ((this.#bytes[this.#at] ?? 0) >> 5 !== TEXT) return UNFIT;
      texts.push(this.#item(0) as string);
    }
    const [name, source, flags] = texts as [string, string, string];
    return name === 'RegExp' ? regExpOf(source, flags) : UNFIT;
  }

  /** The item that begins at `start`, as its bytes. */
  #unshown(start: number): Unshown {
    this.#at = start;
    this.#skip();
    return { __type: 'CBOR', data: this.#buffer.toString('base64', start, this.#at) };
  }

  /** Skips the next item, whatever its depth. */
  #skip(): void {
    const open: number[] = []; // items left in each enclosing array or map; infinite until a break
    do {
      const initial = this.#initial();
      const [major, info] = [initial >> 5, initial & 31];
      let inside = 0;
      if (initial === BREAK) {
        if (open.pop() !== Number.POSITIVE_INFINITY) throw malformed('a break ends nothing');
      } else if (info === INDEFINITE) {
        if (major === UINT || major === NEGATIVE || major === TAG) throw malformed('a head ends in 31');
        inside = Number.POSITIVE_INFINITY;
      } else {
        const n = this.#argument(info);
        if (major === BYTES || major === TEXT) {
          this.#need(n);
          this.#at += n;
        } else if (major === ARRAY) inside = n;
        else if (major === MAP) inside = 2 * n;
        else if (major === TAG) inside = 1;
        if (inside !== Number.POSITIVE_INFINITY) this.#need(inside);
      }
      if (inside > 0) {
        open.push(inside);
        continue;
      }
      // It is complete, and so are the enclosing items if it was their last.
      for (let left = 0; open.length > 0 && left === 0; ) {
        left = (open.pop() as number) - 1;
        if (left > 0) open.push(left);
      }
    } while (open.length > 0);
  }
}

const CACHED_KEY_BYTES = 32;
const KEY_SLOTS = 1024;
const keys: (string | undefined)[] = new Array<string | undefined>(KEY_SLOTS).fill(undefined);

function isAscii(bytes: Uint8Array, at: number, n: number): boolean {
  for (let i = at; i < at + n; i++) if ((bytes[i] as number) > 0x7f) return false;
  return true;
}

/** Like cbor-x: `__proto__` would set the object's prototype instead of a key. */
function safe(key: string): string {
  return key === '__proto__' ? '__proto_' : key;
}

function fromHalf(half: number): number {
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  const sign = half & 0x8000 ? -1 : 1;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

function malformed(what: string): Error {
  return new Error(`not well-formed CBOR: ${what}`);
}
