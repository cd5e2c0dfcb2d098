import assert from 'node:assert/strict';
import { test } from 'node:test';
import { part } from './helpers/client.js';

const { newRequestId } = part<typeof import('../build/transport/requestId.js')>('transport/requestId');

test('request ids are all different, short, and fit for a header', () => {
  const made = new Set(Array.from({ length: 10_000 }, newRequestId));
  assert.equal(made.size, 10_000);
  for (const id of made) assert.match(id, /^[\w-]{20}-[0-9a-z]+-[0-9a-z]+$/);
});
