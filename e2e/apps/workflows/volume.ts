// Much of one thing.
async function echo(payload: string) {
  'use step';
  return payload;
}

/** Sends `count` payloads of `size` characters through steps, one after the other or all at once. */
export async function payloads(count: number, size: number, atOnce: boolean) {
  'use workflow';
  const sent = Array.from({ length: count }, (_, i) => `${i}:`.padEnd(size, 'x'));
  const back: string[] = atOnce ? await Promise.all(sent.map((payload) => echo(payload))) : [];
  if (!atOnce) for (const payload of sent) back.push(await echo(payload));
  return { same: back.every((payload, i) => payload === sent[i]), characters: back.join('').length };
}

const CHUNK = 64 * 1024;

async function generate(bytes: number) {
  'use step';
  let left = bytes;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const size = Math.min(CHUNK, left);
      if (size > 0) controller.enqueue(new Uint8Array(size).fill((left / CHUNK) & 255));
      left -= size;
      if (left === 0) controller.close();
    },
  });
}

async function invert(stream: ReadableStream<Uint8Array>) {
  'use step';
  const flip = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => controller.enqueue(chunk.map((byte) => byte ^ 255)),
  });
  return stream.pipeThrough(flip);
}

async function total(stream: ReadableStream<Uint8Array>) {
  'use step';
  let [bytes, sum] = [0, 0];
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    for (const byte of chunk) sum += byte;
  }
  return { bytes, sum };
}

/** Streams `bytes` bytes through a step that inverts them to one that adds them up, `count` times at once. */
export async function bigStreams(count: number, bytes: number) {
  'use workflow';
  const one = async () => await total(await invert(await generate(bytes)));
  return await Promise.all(Array.from({ length: count }, one));
}
