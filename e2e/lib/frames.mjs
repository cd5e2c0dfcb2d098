// @ts-check
// The framed body of a stream read (docs/protocol.md, "Stream bodies").

const END = 0xffffffff;
const KEEP_ALIVE = 0xfffffffe;

/** Calls `onChunk` with each chunk of a body as it arrives; returns whether the body had its end frame. */
export async function readFrames(body, onChunk) {
  let rest = Buffer.alloc(0);
  for await (const bytes of body) {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 4) {
      const length = rest.readUInt32BE(0);
      if (length === END) return true;
      const size = length === KEEP_ALIVE ? 0 : length;
      if (rest.length < 4 + size) break;
      if (length !== KEEP_ALIVE) onChunk(rest.subarray(4, 4 + size));
      rest = rest.subarray(4 + size);
    }
  }
  return false;
}
