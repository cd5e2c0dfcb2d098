// @ts-check
// Streams through the World's own methods: the time until a reader has a chunk, and the throughput in bytes.
import { setTimeout as delay } from 'node:timers/promises';
import { bytes, create, openWorld, report, runId, settings } from './world.mjs';

const writer = openWorld();
// A separate reader, at another replica if there is one; a World that lives in the process is its own reader.
const reader = settings.shared ? writer : openWorld(settings.readerUrl && { url: settings.readerUrl });
const run = runId();
await create(writer, run, { eventType: 'run_created', eventData: { deploymentId: 'bench', workflowName: 'workflow//./w//stream', input: bytes(8), executionContext: {} } });
report(await { live, bulk }[settings.measure]());

/** One chunk at a time with a pause in between: from the write call until the reader has the chunk. */
async function live() {
  const name = `strm_live_${run}`;
  const { n } = settings;
  await writer.writeToStream(name, run, bytes(100)); // some Worlds know a stream only after its first chunk
  const chunks = (await reader.readFromStream(name)).getReader();
  await chunks.read();
  const latencies = [];
  for (let i = 0; i < n + 10; i++) {
    await delay(10);
    const began = performance.now();
    const [, took] = await Promise.all([writer.writeToStream(name, run, bytes(100)), chunks.read().then(() => performance.now() - began)]);
    if (i >= 10) latencies.push(took);
  }
  await writer.closeStream(name, run);
  return { latencies };
}

/** `n` chunks of `size`, sixteen per call as in the SDK's buffer, with one reader; it ends when all are read. */
async function bulk() {
  const name = `strm_bulk_${run}`;
  const { n, size } = settings;
  const chunk = bytes(size);
  await writer.writeToStream(name, run, chunk);
  const chunks = (await reader.readFromStream(name)).getReader();
  await chunks.read();
  const began = performance.now();
  const reading = (async () => {
    let left = n * size;
    while (left > 0) {
      const { value, done } = await chunks.read();
      if (done) throw new Error(`the stream ended ${left} bytes early`);
      left -= value.byteLength;
    }
  })();
  for (let i = 0; i < n; i += 16) await writeAll(name, Array(Math.min(16, n - i)).fill(chunk));
  const written = performance.now() - began;
  await reading;
  const read = performance.now() - began;
  await writer.closeStream(name, run);
  return { perSecond: (n / read) * 1000, megabytes: (n * size) / read / 1000, writtenMegabytes: (n * size) / written / 1000 };
}

async function writeAll(name, chunks) {
  if (writer.writeToStreamMulti) return writer.writeToStreamMulti(name, run, chunks);
  for (const chunk of chunks) await writer.writeToStream(name, run, chunk);
}
