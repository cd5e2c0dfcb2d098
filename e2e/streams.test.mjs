// @ts-check
// Streams that are read while they are written, by the SDK and by a plain HTTP client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

for (const sdk of sdks) {
  test(`SDK ${sdk}: live streams`, async (t) => {
    const { app, api, service } = await startStack(t, { sdk });

    await t.test('a reader that was there first gets every chunk before the writer is done', async () => {
      const runId = await app.begin('ticker', 10, 100);
      const response = await fetch(`${app.url}/stream/${runId}`, { signal: AbortSignal.timeout(60_000) });
      const seen = [];
      let statusAtFirst;
      for await (const bytes of response.body ?? []) {
        statusAtFirst ??= (await api.run(runId)).status;
        seen.push(...bytes);
      }
      assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      assert.equal(statusAtFirst, 'running');
      assert.equal((await app.outcome(runId)).status, 'completed');
    });

    await t.test('three readers of a stream that is not written yet, from different indexes', async () => {
      const runId = await app.begin('ticker', 6, 50);
      const read = async (startIndex) => [...(await app.stream(runId, startIndex))];
      assert.deepEqual(await Promise.all([read(0), read(0), read(4)]), [
        [0, 1, 2, 3, 4, 5],
        [0, 1, 2, 3, 4, 5],
        [4, 5],
      ]);
    });

    await t.test('5,000 chunks of two steps at once, read from before, during and after', async () => {
      const patience = 150_000; // SDK v4 waits for each chunk to be stored before it sends the next
      const runId = await app.begin('duet', 2500);
      const before = app.values(runId, patience);
      const [name] = await until('the stream', async () => {
        const { data } = await api.get(`/v1/runs/${runId}/streams`);
        return data.length > 0 && data;
      });
      const during = app.values(runId, patience);
      assert.equal((await app.outcome(runId, patience)).status, 'completed');
      const after = await app.values(runId);
      assert.equal(after.length, 5000);
      assert.deepEqual(await api.get(`/v1/streams/${name}/info`), { tailIndex: 4999, done: true });
      const numbers = Array.from({ length: 2500 }, (_, i) => i);
      for (const voice of ['high', 'low']) {
        assert.deepEqual(
          after.filter(([v]) => v === voice).map(([, i]) => i),
          numbers,
        );
      }
      assert.deepEqual(await before, after);
      assert.deepEqual(await during, after);
    });

    await t.test('over plain HTTP: frames with an end, pages of chunks, a tail index', async () => {
      const runId = await app.begin('ticker', 5, 20);
      const [name] = await until('the stream', async () => {
        const { data } = await api.get(`/v1/runs/${runId}/streams`);
        return data.length > 0 && data;
      });
      const response = await fetch(`${service.url}/v1/streams/${name}?startIndex=0`, {
        headers: { accept: 'application/vnd.world-redis.chunks' },
        signal: AbortSignal.timeout(60_000),
      });
      assert.equal(response.headers.get('x-stream-start'), '0');
      const { chunks, ended } = frames(Buffer.from(await response.arrayBuffer()));
      assert.equal(ended, true);
      assert.equal(chunks.length, 5);

      const first = await api.get(`/v1/streams/${name}/chunks?limit=2`);
      assert.deepEqual(
        first.data.map((c) => c.index),
        [0, 1],
      );
      assert.equal(first.hasMore, true);
      const rest = await api.get(`/v1/streams/${name}/chunks?limit=10&cursor=${encodeURIComponent(first.cursor)}`);
      assert.deepEqual(
        rest.data.map((c) => c.index),
        [2, 3, 4],
      );
      assert.equal(rest.done, true);
      const stored = [...first.data, ...rest.data].map((c) => Buffer.from(c.data.data, 'base64'));
      assert.deepEqual(stored, chunks);
      assert.deepEqual(await api.get(`/v1/streams/${name}/info`), { tailIndex: 4, done: true });
    });

    await t.test('two streams of a run, bytes and an object each, from the first chunk, the second and the last', async () => {
      const runId = await app.begin('twoWritables');
      const [bytes, object] = [{ bytes: [0, 255, 128] }, (name) => ({ in: name, n: 1 })];
      for (const [namespace, name] of [
        [undefined, 'default'],
        ['side', 'side'],
      ]) {
        for (const startIndex of [0, 1, -1]) {
          const expected = startIndex === 0 ? [bytes, object(name)] : [object(name)];
          // A negative index counts from the current end, so the run has to be over.
          if (startIndex === -1) assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 'done' });
          assert.deepEqual(await app.values(runId, 60_000, { namespace, startIndex }), expected, `${name} from ${startIndex}`);
        }
      }
      const { data: names } = await api.get(`/v1/runs/${runId}/streams`);
      const own = `strm_${runId.slice('wrun_'.length)}_user`;
      assert.deepEqual(names.sort(), [own, `${own}_${Buffer.from('side').toString('base64url')}`]);
      for (const name of names) {
        assert.deepEqual(await api.get(`/v1/streams/${name}/info`), { tailIndex: 1, done: true });
        const pages = [];
        for (let cursor = ''; cursor !== null; ) {
          const page = await api.get(`/v1/streams/${name}/chunks?limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
          pages.push([page.data.map((chunk) => chunk.index), page.hasMore, page.done]);
          cursor = page.cursor;
        }
        assert.deepEqual(
          pages,
          [
            [[0], true, true],
            [[1], false, true],
          ],
          'as many pages as chunks',
        );
      }
    });

    await t.test('two steps that write two streams in turns: each in its order', async () => {
      const runId = await app.begin('inTurns');
      assert.deepEqual(await app.values(runId), [1, 2, 3, 4, 5, 6]);
      assert.deepEqual(await app.values(runId, 60_000, { namespace: 'side' }), [-1, -2, -3, -4, -5, -6]);
      assert.equal((await app.outcome(runId)).status, 'completed');
    });

    await t.test('texts of many scripts as bytes, a chunk each', async () => {
      const texts = ['Ünïcödé straße', '漢字かな 👩‍👩‍👧🎉', 'مرحبا بالعالم', JSON.stringify({ deep: ['ключ', '\0', { 鍵: '🔑' }] })];
      const runId = await app.begin('textsAsBytes', texts);
      const decoder = new TextDecoder('utf-8', { fatal: true });
      assert.deepEqual(
        (await app.values(runId)).map(({ bytes }) => decoder.decode(new Uint8Array(bytes))),
        texts,
      );
    });

    await t.test('a stream that a run returns, ten lines written one by one', async () => {
      const runId = await app.begin('returnsStream', 10, 150);
      const response = await fetch(`${app.url}/returned-stream/${runId}`, { signal: AbortSignal.timeout(60_000) });
      const reads = await Array.fromAsync(response.body ?? [], (bytes) => Buffer.from(bytes).toString());
      assert.equal(reads.join(''), Array.from({ length: 10 }, (_, i) => `line ${i}\n`).join(''));
    });

    for (const namespace of [undefined, 'side']) {
      await t.test(`a child run writes ${namespace ? 'a named stream' : 'the default stream'} of its parent: one chunk of so many bytes, and the end`, async () => {
        const runId = await app.begin('forwardsWritable', 12_345, ...(namespace ? [namespace] : []));
        const { status, value: childId } = await app.outcome(runId);
        assert.equal(status, 'completed');
        const [chunk, ...more] = await app.values(runId, 60_000, { namespace });
        assert.deepEqual([chunk.bytes.length, new Set(chunk.bytes), more], [12_345, new Set([7]), []]);
        assert.deepEqual((await api.get(`/v1/runs/${childId}/streams`)).data, [], 'the child has none of its own');
      });
    }

    await t.test('a stream without a write is open and empty', async () => {
      assert.deepEqual(await api.get('/v1/streams/nobody/info'), { tailIndex: -1, done: false });
    });
  });
}

/** Splits a framed body (docs/protocol.md, "Stream bodies") without keep-alives. */
function frames(body) {
  const chunks = [];
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32BE(at);
    at += 4;
    if (length === 0xffffffff) return { chunks, ended: true };
    if (length === 0xfffffffe) continue;
    chunks.push(body.subarray(at, at + length));
    at += length;
  }
  return { chunks, ended: false };
}
