/** The content type of a body of chunks (docs/protocol.md, "Stream bodies"). */
export const CHUNKS = 'application/vnd.world-redis.chunks';

const END = 0xffffffff;
const KEEP_ALIVE = 0xfffffffe;
const HEADER_BYTES = 4;
/** The size, in bytes, from which clearing memory costs more than avoiding it. */
const UNCLEARED_BYTES = 4096;

/** Encodes chunks as frames: `[u32 big-endian length][bytes]` each. */
export function encodeFrames(chunks: Uint8Array[]): Uint8Array {
  const total = chunks.reduce((sum, chunk) => sum + HEADER_BYTES + chunk.byteLength, 0);
  const body = Buffer.allocUnsafe(total);
  let offset = 0;
  for (const chunk of chunks) {
    body.writeUInt32BE(chunk.byteLength, offset);
    body.set(chunk, offset + HEADER_BYTES);
    offset += HEADER_BYTES + chunk.byteLength;
  }
  return body;
}

/**
 * Decodes frames from a body that arrives in arbitrary pieces. Returned chunks are copies that own their memory: the
 * pieces are views of the socket's buffers, and the receiver of a chunk may transfer it.
 */
export class FrameDecoder {
  /** Whether the end frame was read. Anything after it is ignored. */
  ended = false;
  #pieces: Uint8Array[] = [];
  /** How much of the first piece was consumed. */
  #at = 0;
  #buffered = 0;
  /** Length of the frame whose header was read; undefined between frames. */
  #length: number | undefined;

  /** Adds the next piece and returns the chunks that it completes, in order. */
  push(piece: Uint8Array): Uint8Array[] {
    this.#pieces.push(piece);
    this.#buffered += piece.byteLength;
    const chunks: Uint8Array[] = [];
    while (!this.ended) {
      if (this.#length === undefined) {
        if (this.#buffered < HEADER_BYTES) break;
        const length = this.#takeLength();
        if (length === END) this.ended = true;
        else if (length !== KEEP_ALIVE) this.#length = length;
      } else {
        if (this.#buffered < this.#length) break;
        chunks.push(this.#take(this.#length));
        this.#length = undefined;
      }
    }
    return chunks;
  }

  #takeLength(): number {
    const first = this.#pieces[0] as Uint8Array;
    const at = this.#at;
    // The header is nearly always within one piece and then needs no memory.
    if (at + HEADER_BYTES >= first.byteLength) return bigEndian(this.#take(HEADER_BYTES), 0);
    this.#at += HEADER_BYTES;
    this.#buffered -= HEADER_BYTES;
    return bigEndian(first, at);
  }

  /** Removes `count` bytes from the front, which must be available, and returns a copy of them. */
  #take(count: number): Uint8Array {
    const taken = ownBytes(count);
    let filled = 0;
    let used = 0; // fully read pieces; removed together, so that many small pieces stay cheap
    while (filled < count) {
      const piece = this.#pieces[used] as Uint8Array;
      const end = Math.min(piece.byteLength, this.#at + count - filled);
      taken.set(piece.subarray(this.#at, end), filled);
      filled += end - this.#at;
      this.#at = end;
      if (end === piece.byteLength) {
        used++;
        this.#at = 0;
      }
    }
    if (used > 0) this.#pieces.splice(0, used);
    this.#buffered -= count;
    return taken;
  }
}

function bigEndian(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let i = 0; i < HEADER_BYTES; i++) value = value * 256 + (bytes[at + i] as number);
  return value;
}

/** Memory that is not shared. Large blocks are not cleared first, since all of it is overwritten. */
function ownBytes(count: number): Uint8Array {
  if (count < UNCLEARED_BYTES) return new Uint8Array(count);
  return new Uint8Array(Buffer.allocUnsafeSlow(count).buffer);
}
