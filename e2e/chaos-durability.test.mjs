// What `make chaos` attributes to Redis, and what to a fault of ours.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayLoseConfirmed } from './chaos/durability.mjs';

test('an acknowledged write may be lost unless every replica of its master has confirmed it', () => {
  const rows = [
    [undefined, 1, true],
    ['local', 2, true],
    ['replicas', 1, false],
    ['replicas:1', 1, false],
    ['replicas', 2, true],
    ['replicas:1', 2, true],
    ['replicas:2', 2, false],
    ['replicas:16', 2, false],
    [undefined, 0, false],
    ['replicas', 0, false],
  ];
  for (const [durability, replicas, may] of rows) assert.equal(mayLoseConfirmed(durability, replicas), may, `${durability} of ${replicas}`);
});
