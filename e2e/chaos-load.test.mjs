// @ts-check
// The load of chaos resumes each hook, however late its run comes. No process is started.
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { mock, test } from 'node:test';
import { Load } from './chaos/load.mjs';
import { randomFrom } from './chaos/random.mjs';

/** What a run of chaosHook does, at seconds after its start was acknowledged. */
class FakeTestbed {
  #began = Date.now();
  received = 0;
  completed = false;

  constructor({ from, loses = false }) {
    this.from = from;
    this.loses = loses;
    const begin = async () => 'wrun_1';
    const resume = async () => {
      if (!this.exists) throw new Error('no such hook');
      this.received++;
      if (this.loses && this.received === 1) return; // Redis loses it
      this.completed = true;
    };
    this.apps = { v4: { begin, resume }, v5: { begin, resume } };
  }

  get exists() {
    return Date.now() - this.#began >= this.from * 1000;
  }

  isUp() {
    return true;
  }

  async get(path) {
    if (!this.exists) return undefined;
    if (path.includes('/events')) return { data: [{ eventType: 'hook_created' }, ...(this.completed ? [{ eventType: 'hook_received' }] : [])] };
    return { status: this.completed ? 'completed' : 'running' };
  }
}

function mockTime(t) {
  const sync = () => syncBuiltinESMExports(); // for modules that import setTimeout by name
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  sync();
  t.after(() => {
    mock.timers.reset();
    sync();
  });
}

/** Lets a promise settle while the mocked time goes on. */
async function pass(promise) {
  let settled = false;
  promise.finally(() => (settled = true));
  for (let seconds = 0; !settled && seconds < 1000; seconds++) {
    for (let i = 0; i < 50; i++) await Promise.resolve();
    mock.timers.tick(500);
  }
  assert.ok(settled, 'it goes on for ever');
}

/** Runs one hook's run against the testbed; returns the load and the run. */
async function oneHook(testbed) {
  const load = new Load(testbed, randomFrom(1));
  const over = new AbortController();
  const run = { sdk: 'v4', workflow: 'chaosHook', args: ['t'], payload: 1, runId: 'wrun_1', resumedAt: undefined, settledAt: undefined };
  await pass(load.follow(run, over.signal));
  return { load, run };
}

for (const [name, { from, loses, lost, received }] of Object.entries({
  'at once': { from: 0, loses: false, lost: 0, received: 1 },
  'after half a minute, and a resume that is given up': { from: 30, loses: false, lost: 0, received: 1 },
  'and its acknowledged resume is lost': { from: 0, loses: true, lost: 1, received: 2 },
})) {
  test(`chaos resumes the hook of a run that comes ${name}`, async (t) => {
    mockTime(t);
    const testbed = new FakeTestbed({ from, loses });
    const { load, run } = await oneHook(testbed);
    assert.equal(testbed.completed, true);
    assert.equal(testbed.received, received);
    assert.equal(load.lostResumes.length, lost);
    assert.ok(run.settledAt);
  });
}

test('a run that comes after a minute is resumed at the end, and no resume counts as lost', async (t) => {
  mockTime(t);
  const testbed = new FakeTestbed({ from: 75 });
  const { load, run } = await oneHook(testbed);
  assert.equal(run.resumedAt, undefined, 'it was given up');
  mock.timers.tick(60_000);
  await pass(load.resumeAgain(run, new AbortController().signal));
  assert.equal(testbed.completed, true);
  assert.equal(load.lostResumes.length, 0);
});
