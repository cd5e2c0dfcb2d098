import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { part } from './helpers/client.js';

const { configReader, readConfig } = part<typeof import('../build/config.js')>('config');

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

test('stream writes are tried for a minute, or as long as the setting says, which the service must be able to remember', () => {
  const SECONDS = 'WORKFLOW_WORLD_STREAM_RETRY_SECONDS';
  try {
    assert.equal(readConfig({}).streamRetryForMs, 60_000);
    for (const [text, ms] of [
      ['', 60_000],
      [' 2 ', 2_000],
      ['0', 0],
      ['0.5', 500],
      ['540', 540_000],
    ] as const) {
      process.env[SECONDS] = text;
      assert.equal(readConfig({}).streamRetryForMs, ms, `"${text}"`);
    }
    for (const text of ['541', '-1', 'a minute', 'Infinity']) {
      process.env[SECONDS] = text;
      const message = `WORKFLOW_WORLD_STREAM_RETRY_SECONDS is "${text}", which is not a number of 0 to 540 seconds`;
      assert.throws(() => readConfig({}), { name: 'WorkflowWorldError', code: 'INVALID_CONFIG', message });
    }
    assert.equal(readConfig({ streamRetryForMs: 7 }).streamRetryForMs, 7);
    assert.throws(() => readConfig({ streamRetryForMs: 540_001 }), { code: 'INVALID_CONFIG', message: /^streamRetryForMs is 540001/ });
  } finally {
    delete process.env[SECONDS];
  }
});
