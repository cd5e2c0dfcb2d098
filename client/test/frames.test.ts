import assert from 'node:assert/strict';
import { test } from 'node:test';
import { part } from './helpers/client.js';

const { encodeFrames, FrameDecoder } = part<typeof import('../build/wire/frames.js')>('wire/frames');

const bytes = (...values: number[]) => new Uint8Array(values);
const END = bytes(0xff, 0xff, 0xff, 0xff);
const KEEP_ALIVE = bytes(0xff, 0xff, 0xff, 0xfe);

test('each chunk is its length and its bytes', () => {
  assert.deepEqual(new Uint8Array(encodeFrames([bytes(1, 2), bytes(), bytes(3)])), bytes(0, 0, 0, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 3));
});

test('frames are read as a whole, however the network splits the body', () => {
  const chunks = [bytes(1, 2, 3), bytes(), new Uint8Array(300).fill(9)];
  const body = Buffer.concat([encodeFrames(chunks.slice(0, 2)), KEEP_ALIVE, encodeFrames(chunks.slice(2)), END]);
  for (const size of [1, 2, 3, 5, 7, 64, body.length]) {
    const decoder = new FrameDecoder();
    const read: Uint8Array[] = [];
    for (let at = 0; at < body.length; at += size) read.push(...decoder.push(body.subarray(at, at + size)));
    assert.deepEqual(read, chunks, `in pieces of ${size}`);
    assert.equal(decoder.ended, true);
  }
});

test('chunks own their memory and do not change with the buffer they came from', () => {
  const body = Buffer.from(encodeFrames([bytes(5, 6)]));
  const [chunk] = new FrameDecoder().push(body);
  body.fill(0);
  assert.deepEqual(chunk, bytes(5, 6));
  assert.equal(chunk?.byteOffset, 0);
  assert.equal(chunk?.buffer.byteLength, 2);
});

test('without the end frame a body has not ended, and bytes after it are ignored', () => {
  const decoder = new FrameDecoder();
  assert.deepEqual(decoder.push(encodeFrames([bytes(1)])), [bytes(1)]);
  assert.equal(decoder.ended, false);
  assert.deepEqual(decoder.push(Buffer.concat([END, encodeFrames([bytes(2)])])), []);
  assert.equal(decoder.ended, true);
});
