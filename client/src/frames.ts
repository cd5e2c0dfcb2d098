/** The content type of a body of chunks (docs/protocol.md, "Stream bodies"). */
export const CHUNKS = 'application/vnd.world-redis.chunks';

const END = 0xffffffff;
const KEEP_ALIVE = 0xfffffffe;
const HEADER_BYTES = 4;

/** Writes chunks as frames: `[u32 big-endian length][bytes]` each. */
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
 * Reads frames from a body that arrives in arbitrary pieces. Chunks handed out are copies that own their memory: the
 * pieces are views of the socket's buffers, and the reader of a chunk may transfer it.
 */
export class FrameDecoder {
  /** Whether the end frame was read. Nothing after it counts. */
  ended = false;
  #pieces: Uint8Array[] = [];
  #buffered = 0;
  /** Length of the frame whose header has been read; undefined between frames. */
  #length: number | undefined;

  /** Takes the next piece and returns the chunks that it completes, in order. */
  push(piece: Uint8Array): Uint8Array[] {
    this.#pieces.push(piece);
    this.#buffered += piece.byteLength;
    const chunks: Uint8Array[] = [];
    while (!this.ended) {
      if (this.#length === undefined) {
        if (this.#buffered < HEADER_BYTES) break;
        const header = this.#take(HEADER_BYTES);
        const length = new DataView(header.buffer).getUint32(0);
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

  /** Removes `count` bytes from the front, which must be there, and returns a copy of them. */
  #take(count: number): Uint8Array {
    const taken = new Uint8Array(count);
    let filled = 0;
    let used = 0; // pieces read to their end; removed in one go, so that many small pieces stay cheap
    while (filled < count) {
      const piece = this.#pieces[used] as Uint8Array;
      const part = piece.subarray(0, count - filled);
      taken.set(part, filled);
      filled += part.byteLength;
      if (part.byteLength === piece.byteLength) used++;
      else this.#pieces[used] = piece.subarray(part.byteLength);
    }
    this.#pieces.splice(0, used);
    this.#buffered -= count;
    return taken;
  }
}
