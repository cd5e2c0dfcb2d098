// `make chaos` in small: Redis, two replicas and two apps are killed and frozen for eight seconds, with a fixed seed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos, SHORT } from './chaos/chaos.mjs';

test('everything is killed and frozen while runs of SDK v4 and v5 go on: none is lost, stuck or failed, and no chunk is missing', async (t) => {
  const report = await chaos({ ...SHORT, seed: 17, seconds: 8 });
  t.diagnostic(String(report));
  assert.ok(report.ok, `\n${report}`);
});
