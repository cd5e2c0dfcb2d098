// @ts-check
// A reader of a stream over plain HTTP that continues with its next index, at the next replica, whenever its
// connection is cut.
import { setTimeout as delay } from 'node:timers/promises';
import { readFrames } from './frames.mjs';

const PATIENCE = 60_000;

/**
 * Reads the stream to its end, or until `signal` says so; `{chunks, ended}`.
 *
 * @param {string[]} urls
 * @param {string} name
 * @param {{ signal?: AbortSignal, token?: string }} [options]
 */
export async function readLive(urls, name, { signal, token } = {}) {
  const chunks = [];
  for (let turn = 0; !signal?.aborted; turn++) {
    const silence = new AbortController();
    const limit = setTimeout(() => silence.abort(), PATIENCE);
    try {
      const url = `${urls[turn % urls.length]}/v1/streams/${encodeURIComponent(name)}?startIndex=${chunks.length}`;
      const response = await fetch(url, {
        headers: { accept: 'application/vnd.world-redis.chunks', ...(token && { authorization: `Bearer ${token}` }) },
        signal: AbortSignal.any([silence.signal, ...(signal ? [signal] : [])]),
      });
      const heard = async function* () {
        for await (const bytes of response.body ?? []) {
          limit.refresh();
          yield bytes;
        }
      };
      const ended = response.ok && (await readFrames(heard(), (chunk) => chunks.push(Buffer.from(chunk))));
      if (ended) return { chunks, ended };
    } catch {
      // cut off: again below
    } finally {
      clearTimeout(limit);
    }
    await delay(200);
  }
  return { chunks, ended: false };
}

/**
 * All stored chunks of a stream, part by part, and whether the stream is done. A part ends where a step closed the
 * stream; what that step wrote when it ran again is the next part.
 */
export async function storedParts(api, name) {
  /** @type {{ start: number, chunks: Buffer[] }[]} */
  const parts = [{ start: 0, chunks: [] }];
  for (let cursor = ''; ; ) {
    const page = await api.get(`/v1/streams/${encodeURIComponent(name)}/chunks?limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    parts.at(-1)?.chunks.push(...page.data.map((chunk) => Buffer.from(chunk.data.data, 'base64')));
    if (page.hasMore) {
      cursor = page.cursor;
    } else if (page.next) {
      cursor = String(page.next);
      parts.push({ start: page.next, chunks: [] });
    } else {
      return { parts, done: page.done };
    }
  }
}

/** The name of a run's own stream: the default one, or that of a namespace. */
export function streamOf(runId, namespace) {
  return `strm_${runId.slice('wrun_'.length)}_user${namespace ? `_${Buffer.from(namespace).toString('base64url')}` : ''}`;
}
