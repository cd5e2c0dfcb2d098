/** Reads lists page by page, and checks on the way what every page promises (contract §1.4). */
import assert from 'node:assert/strict';
import type { Page, Pagination } from '../../build/types.js';

export type List = (pagination: Pagination) => Promise<Page>;

/** The most rows that one page has. */
const MOST = 1000;

export interface Walk {
  ids: string[];
  /** Where it ended; undefined when there was nothing. */
  cursor: string | undefined;
  pages: number;
}

/** Reads to the end. `between` runs after every page but the last. */
export async function walk(list: List, id: string, pagination: Pagination, between?: () => Promise<void>): Promise<Walk> {
  const ids: string[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page: Page = await list({ ...pagination, ...(cursor !== undefined && { cursor }) });
    ids.push(...page.data.map((row) => row[id] as string));
    if (pagination.limit !== undefined) assert.ok(page.data.length <= Math.min(pagination.limit, MOST), `${page.data.length} rows in a page`);
    if (page.data.length > 0) {
      assert.equal(typeof page.cursor, 'string', 'a page with rows has a cursor, the last one too');
      assert.ok(!cursors.has(page.cursor as string), 'a cursor that has been given before');
      cursors.add(page.cursor as string);
      cursor = page.cursor as string;
    }
    if (!page.hasMore) return { ids, cursor, pages };
    // More is only promised when it is there; an empty page in between would break this.
    assert.ok(page.data.length > 0, 'an empty page that says that there is more');
    await between?.();
  }
}

/**
 * The list has exactly these rows (oldest first) for every limit, in both orders; `standard` is its own order, and
 * `pageSize` how many it gives without a limit, none if all.
 */
export async function checkPages(list: List, id: string, rows: string[], standard: 'asc' | 'desc', pageSize?: number): Promise<void> {
  const limits = [...(rows.length <= 101 ? [1] : []), 100, 1000, 1001];
  const newestFirst = [...rows].reverse();
  for (const limit of limits) {
    const most = Math.min(limit, MOST);
    for (const [sortOrder, expected] of [
      ['asc', rows],
      ['desc', newestFirst],
    ] as const) {
      const { ids, pages } = await walk(list, id, { limit, sortOrder });
      assert.deepEqual(ids, expected, `${rows.length} rows, limit ${limit}, ${sortOrder}`);
      assert.equal(pages, Math.max(1, Math.ceil(rows.length / most)), `${rows.length} rows, limit ${limit}: pages`);
    }
  }
  const { ids, pages } = await walk(list, id, {});
  assert.deepEqual(ids, standard === 'asc' ? rows : newestFirst, `${rows.length} rows without a limit`);
  assert.equal(pages, Math.max(1, Math.ceil(rows.length / (pageSize ?? Number.POSITIVE_INFINITY))), `${rows.length} rows without a limit: pages`);
}

/** The lengths at which pages have been known to go wrong. */
export const LENGTHS = [0, 1, 99, 100, 101, 999, 1000, 1001];
