/** Streams of the real service: live, from the middle, from the end, across a restart. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { createWorld } from './helpers/client.js';
import { newRunId, ulid } from './helpers/ids.js';
import { Service } from './helpers/service.js';

let service: Service;
let world: RedisWorld;
before(async () => {
  service = await Service.start();
  world = createWorld({ url: service.url });
});
after(async () => {
  await world.close();
  await service.stop();
});

const newName = () => `strm_${ulid()}_user`;

async function readAll(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  const read: string[] = [];
  for await (const chunk of stream) read.push(Buffer.from(chunk).toString());
  return read;
}

test('what is written while a reader waits reaches it, in order, until the end', async () => {
  const [name, runId] = [newName(), newRunId()];
  const stream = await world.readFromStream(name);
  const all = readAll(stream);
  await world.writeToStream(name, runId, 'a');
  await world.writeToStreamMulti(name, runId, ['b', '', 'ö', new Uint8Array([100])]);
  await world.closeStream(name, runId);
  assert.deepEqual(await all, ['a', 'b', 'ö', 'd']);
});

test('a stream is read from any index, and ends immediately after its end', async () => {
  const [name, runId] = [newName(), newRunId()];
  await world.writeToStreamMulti(name, runId, ['0', '1', '2', '3']);
  await world.closeStream(name, runId);
  await world.closeStream(name, runId);
  const read = async (start?: number) => readAll(await world.readFromStream(name, start));
  assert.deepEqual(await read(), ['0', '1', '2', '3']);
  assert.deepEqual(await read(2), ['2', '3']);
  assert.deepEqual(await read(-1), ['3']);
  assert.deepEqual(await read(-99), ['0', '1', '2', '3']);
  assert.deepEqual(await read(99), []);
});

test('snapshots count chunks, empty ones too, and say whether the end is recorded', async () => {
  const [name, runId] = [newName(), newRunId()];
  assert.deepEqual(await world.getStreamInfo(name, runId), { tailIndex: -1, done: false });
  assert.deepEqual(await world.getStreamChunks(name, runId), { data: [], cursor: null, hasMore: false, done: false });
  await world.writeToStreamMulti(name, runId, ['a', '', 'c']);
  const first = await world.getStreamChunks(name, runId, { limit: 2 });
  assert.deepEqual(first.data, [
    { index: 0, data: new Uint8Array([97]) },
    { index: 1, data: new Uint8Array(0) },
  ]);
  assert.deepEqual([first.hasMore, first.done], [true, false]);
  await world.closeStream(name, runId);
  const rest = await world.getStreamChunks(name, runId, { cursor: String(first.cursor) });
  assert.deepEqual(rest, { data: [{ index: 2, data: new Uint8Array([99]) }], cursor: null, hasMore: false, done: true });
  assert.deepEqual(await world.getStreamInfo(name, runId), { tailIndex: 2, done: true });
});

test('the streams of a run are listed, also those of a run that nobody created', async () => {
  const runId = newRunId();
  assert.deepEqual(await world.listStreamsByRunId(runId), []);
  const names = [newName(), `${newName()}/ü ?#`];
  for (const name of names) await world.writeToStream(name, Promise.resolve(runId), 'x');
  assert.deepEqual((await world.listStreamsByRunId(runId)).sort(), [...names].sort());
  await world.writeToStream('__health_check__1', 'wrun_hc_1', '{"healthy":true}');
});

test('the nested form of v5 reads what the flat form of v4 wrote', async () => {
  const [name, runId] = [newName(), newRunId()];
  await world.writeToStream(name, runId, 'flat');
  await world.streams.write(runId, name, 'nested');
  await world.streams.close(runId, name);
  assert.deepEqual(await readAll(await world.streams.get(runId, name, 0)), ['flat', 'nested']);
  assert.deepEqual(await world.streams.getInfo(runId, name), { tailIndex: 1, done: true });
});

test('a cancelled reader releases its connection', async () => {
  const reader = (await world.readFromStream(newName())).getReader();
  const pending = reader.read();
  await reader.cancel();
  assert.deepEqual(await pending, { done: true, value: undefined });
});

test('a large chunk and many small ones arrive complete', async () => {
  const [name, runId] = [newName(), newRunId()];
  const large = new Uint8Array(3 * 1024 * 1024).map((_, i) => i % 241);
  await world.writeToStream(name, runId, large);
  const small = Array.from({ length: 2000 }, (_, i) => `chunk ${i}`);
  await world.writeToStreamMulti(name, runId, small);
  await world.closeStream(name, runId);
  const reader = (await world.readFromStream(name)).getReader();
  const first = await reader.read();
  assert.equal(Buffer.compare(first.value as Uint8Array, large), 0);
  reader.releaseLock();
  const rest = await readAll(await world.readFromStream(name, 1));
  assert.deepEqual(rest, small);
});

test('a reader outlives a restart of the service', async () => {
  const own = await Service.start();
  const theirs = createWorld({ url: own.url });
  const [name, runId] = [newName(), newRunId()];
  await theirs.writeToStream(name, runId, 'before');
  const reader = (await theirs.readFromStream(name)).getReader();
  assert.equal(Buffer.from((await reader.read()).value as Uint8Array).toString(), 'before');
  const next = reader.read();
  await own.kill();
  await own.launch();
  // Embedded Redis forgot everything: the reader still asks for what comes after the chunk that it has.
  await theirs.writeToStreamMulti(name, runId, ['again', 'after']);
  assert.equal(Buffer.from((await next).value as Uint8Array).toString(), 'after');
  await reader.cancel();
  await theirs.close();
  await own.stop();
});
