import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { part } from './helpers/client.js';

const { configReader } = part<typeof import('../dist/config.js')>('config');

const NAME = 'WORKFLOW_WORLD_URL';
const before = process.env[NAME];
afterEach(() => {
  mock.timers.reset();
  if (before === undefined) delete process.env[NAME];
  else process.env[NAME] = before;
});

test('settings are believed for a tenth of a second, by whichever clock, and then read anew', () => {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  const read = configReader({ deploymentId: 'dpl_7' });
  const urlOf = (url: string) => {
    process.env[NAME] = url;
    return read().url;
  };
  assert.equal(urlOf('http://one'), 'http://one');
  mock.timers.tick(99);
  assert.equal(urlOf('http://two'), 'http://one');
  mock.timers.tick(1);
  assert.equal(urlOf('http://two'), 'http://two');
  mock.timers.setTime(500_000); // the clock is set back
  assert.equal(urlOf('http://three'), 'http://three');
  assert.equal(read().deploymentId, 'dpl_7');
});
