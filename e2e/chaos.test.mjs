// @ts-check
// `make chaos` in small: Redis, two replicas and two apps are killed, frozen and cut off for half a minute, with a fixed seed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos, SHORT } from './chaos/chaos.mjs';

test('everything is killed, frozen and cut off while runs of SDK v4 and v5 go on: none is lost, stuck or failed, and no chunk is missing', async (t) => {
  const report = await chaos({ ...SHORT, seed: 17, seconds: 30 });
  t.diagnostic(String(report));
  assert.ok(report.ok, `\n${report}`);
});
