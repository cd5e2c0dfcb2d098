import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createWorld, part } from './helpers/client.js';
import { drop, Fake, json, streamBody } from './helpers/fake.js';

const { encodeFrames } = part<typeof import('../build/wire/frames.js')>('wire/frames');

const fakes: Fake[] = [];
after(async () => {
  for (const fake of fakes) {
    await createWorld({ url: fake.url }).close();
    await fake.stop();
  }
});

async function fakeWorld() {
  const fake = await Fake.start(json(500, {}));
  fakes.push(fake);
  return { fake, world: createWorld({ url: fake.url }) };
}

const END = Buffer.from('ffffffff', 'hex');
const KEEP_ALIVE = Buffer.from('fffffffe', 'hex');
const frames = (...chunks: string[]) => Buffer.from(encodeFrames(chunks.map((text) => Buffer.from(text))));

async function readAll(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  const read: string[] = [];
  for await (const chunk of stream) read.push(Buffer.from(chunk).toString());
  return read;
}

test('a stream is read to its recorded end, including empty chunks and without keep-alives', async () => {
  const { fake, world } = await fakeWorld();
  fake.next(streamBody(Buffer.concat([KEEP_ALIVE, frames('a', '', 'b'), KEEP_ALIVE, END])));
  assert.deepEqual(await readAll(await world.readFromStream('strm/1')), ['a', 'b']);
  assert.equal(fake.seen[0]?.url, '/v1/streams/strm%2F1?startIndex=0');
  assert.equal(fake.seen[0]?.headers['accept'], 'application/vnd.world-redis.chunks');
});

test('chunks can be given to a byte stream, which takes their memory', async () => {
  const { fake, world } = await fakeWorld();
  fake.next(streamBody(Buffer.concat([frames('hello', 'you'), END])));
  const source = await world.readFromStream('s');
  const reader = source.getReader();
  const bytes = new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value as Uint8Array<ArrayBuffer>);
    },
  });
  assert.deepEqual(await readAll(bytes), ['hello', 'you']);
});

test('a cut connection continues at the next index: nothing is lost or repeated', async () => {
  const { fake, world } = await fakeWorld();
  const half = frames('cc').subarray(0, 5);
  fake.next(streamBody(Buffer.concat([frames('a', '', 'b'), half]), { cut: true }), drop, json(503, {}), streamBody(Buffer.concat([frames('cc', 'd'), END]), { start: 3 }));
  assert.deepEqual(await readAll(await world.readFromStream('s')), ['a', 'b', 'cc', 'd']);
  assert.deepEqual(
    fake.seen.map(({ url }) => url),
    ['0', '3', '3', '3'].map((index) => `/v1/streams/s?startIndex=${index}`),
  );
});

test('a body that ends properly but without the end frame counts as cut', async () => {
  const { fake, world } = await fakeWorld();
  fake.next(
    (response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.world-redis.chunks', 'x-stream-start': '0' });
      response.end(frames('a'));
    },
    streamBody(Buffer.concat([frames('b'), END]), { start: 1 }),
  );
  assert.deepEqual(await readAll(await world.readFromStream('s')), ['a', 'b']);
});

test('a start counted from the end is fixed by the first answer and kept across a cut', async () => {
  const { fake, world } = await fakeWorld();
  fake.next(drop, streamBody(frames('h'), { start: 7, cut: true }), streamBody(Buffer.concat([frames('i'), END]), { start: 8 }));
  assert.deepEqual(await readAll(await world.readFromStream('s', -3)), ['h', 'i']);
  assert.deepEqual(
    fake.seen.map(({ url }) => url.split('=')[1]),
    ['-3', '-3', '8'],
  );
});

test("a refusal makes the stream fail with the SDK's error, immediately", async () => {
  const { fake, world } = await fakeWorld();
  fake.next(json(400, { error: { name: 'WorkflowWorldError', message: 'bad index', status: 400, code: 'invalid' } }));
  await assert.rejects(readAll(await world.readFromStream('s')), { status: 400, message: 'bad index' });
  assert.equal(fake.seen.length, 1);
  fake.next((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'));
  await assert.rejects(readAll(await world.readFromStream('s')), { name: 'WorkflowWorldError', status: 502 });
});

test('cancelling ends the request promptly, also while no data arrives', async () => {
  const { fake, world } = await fakeWorld();
  const closed = new Promise<void>((resolve) => {
    fake.next((response) => {
      response.on('close', resolve);
      streamBody(frames('a'))(response, {} as never);
    });
  });
  const reader = (await world.readFromStream('s')).getReader();
  assert.equal((await reader.read()).done, false);
  const pending = reader.read();
  await reader.cancel();
  assert.deepEqual(await pending, { done: true, value: undefined });
  await closed;
  assert.equal(fake.seen.length, 1);
});

test('a reader that does not read causes backpressure', async () => {
  const { fake, world } = await fakeWorld();
  const chunk = encodeFrames([new Uint8Array(64 * 1024)]);
  let written = 0;
  const stalled = new Promise<void>((resolve) => {
    fake.next((response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.world-redis.chunks', 'x-stream-start': '0' });
      response.on('error', () => undefined);
      const write = () => {
        if (written >= 512 * 1024 * 1024) return;
        written += chunk.byteLength;
        let drained = false;
        if (response.write(chunk)) return void setImmediate(write);
        response.once('drain', () => {
          drained = true;
          write();
        });
        // Full buffers all the way: the drain would have come long before this.
        setTimeout(() => {
          if (!drained) resolve();
        }, 300);
      };
      write();
    });
  });
  const stream = await world.readFromStream('s');
  await stalled;
  assert.ok(written < 64 * 1024 * 1024, `${written} bytes were sent to a reader that read nothing`);
  await stream.cancel();
});

test('close() ends a live read instead of letting it open the connection again', async () => {
  const { fake, world } = await fakeWorld();
  fake.next(streamBody(frames('a')));
  const reader = (await world.readFromStream('s')).getReader();
  await reader.read();
  const pending = reader.read();
  await world.close();
  await assert.rejects(pending, { name: 'WorkflowWorldError', code: 'TRANSPORT' });
  assert.equal(fake.seen.length, 1);
});

test('many idle live reads do not delay calls', async () => {
  const { fake, world } = await fakeWorld();
  const idle = streamBody(Buffer.alloc(0));
  fake.next(...Array.from({ length: 80 }, () => idle));
  const streams = [];
  for (let i = 0; i < 80; i++) streams.push(await world.readFromStream(`s${i}`));
  while (fake.seen.length < 80) await new Promise((resolve) => setImmediate(resolve));
  fake.next(json(200, { runId: 'r' }));
  assert.deepEqual(await world.runs.get('r'), { runId: 'r' });
  await Promise.all(streams.map((stream) => stream.cancel()));
});

test('a stream that was read to its end releases its connection for the next one', async () => {
  const { fake, world } = await fakeWorld();
  const whole = (response: import('node:http').ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/vnd.world-redis.chunks', 'x-stream-start': '0' });
    response.write(frames('a'));
    response.end(END);
  };
  fake.next(whole, whole, whole);
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(await readAll(await world.readFromStream('s')), ['a']);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(fake.opened <= 2, `${fake.opened} connections`);
});

test('a connection that stays open after the end frame is given up', async () => {
  const { fake, world } = await fakeWorld();
  const closed = new Promise<void>((resolve) => {
    fake.next((response) => {
      response.on('close', resolve);
      streamBody(Buffer.concat([frames('a'), END]))(response, {} as never);
    });
  });
  assert.deepEqual(await readAll(await world.readFromStream('s')), ['a']);
  await closed;
});

test('chunks from before a failure are read before the failure', async () => {
  const { fake, world } = await fakeWorld();
  fake.next(streamBody(frames('a', 'b', 'c'), { cut: true }), json(400, { error: { name: 'WorkflowWorldError', message: 'no more', status: 400, code: 'invalid' } }));
  const reader = (await world.readFromStream('s')).getReader();
  const read: string[] = [];
  const all = async () => {
    for (;;) {
      // Slower than the failure comes.
      await new Promise((resolve) => setTimeout(resolve, 50));
      const { done, value } = await reader.read();
      if (done) return;
      read.push(Buffer.from(value).toString());
    }
  };
  await assert.rejects(all(), { message: 'no more' });
  assert.deepEqual(read, ['a', 'b', 'c']);
  assert.equal(fake.seen[1]?.url, '/v1/streams/s?startIndex=3');
});
