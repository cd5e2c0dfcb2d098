// @ts-check
// `make chaos --mode sentinel` in small: half a minute of it, with a fixed seed, on three Redis with Sentinel.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos, SHORT } from './chaos/chaos.mjs';

test('masters are killed, frozen, cut off and replaced while runs of SDK v4 and v5 go on: none is stuck or failed', async (t) => {
  const report = await chaos({ ...SHORT, mode: 'sentinel', seed: 17, seconds: 30 });
  t.diagnostic(String(report));
  assert.ok(report.ok, `\n${report}`);
});
