// @ts-check
// Attributes on SDK v5: who may write which, what the log says about it, and what they survive.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { startStack } from './lib/stack.mjs';

test('SDK v5: attributes', { concurrency: 5 }, async (t) => {
  const { app, api } = await startStack(t, { sdk: 'v5' });
  const rows = [];
  const row = (name, story) => rows.push(t.test(name, story));

  const attributesOf = async (runId) => (await api.run(runId)).attributes;
  const ended = async (runId, expected = { status: 'completed' }) => {
    const outcome = await app.outcome(runId);
    for (const [key, value] of Object.entries(expected)) assert.deepEqual(outcome[key], value, JSON.stringify(outcome));
    const writes = (await checkEndedRun(api, runId)).filter((e) => e.eventType === 'attr_set').map((e) => e.eventData);
    return { ...outcome, writes, writers: writes.map((write) => write.writer.type) };
  };

  row('given at the start: on the run from its creation, together with those that the workflow writes', async () => {
    const runId = await app.beginWith({ attributes: { source: 'checkout', phase: 'zero' } }, 'workflowWrites');
    const { source } = (await api.events(runId))[0].eventData.attributes;
    assert.equal(source, 'checkout');
    await ended(runId);
    assert.deepEqual(await attributesOf(runId), { source: 'checkout', phase: 'two' });
  });

  row('reserved keys: only by permission, and kept through later writes', async () => {
    const attributes = { $kind: 'seeded', $owner: 'library' };
    const runId = await app.beginWith({ attributes, allowReservedAttributes: true }, 'reservedWrite');
    const { writes } = await ended(runId);
    assert.deepEqual(
      writes.map((write) => write.allowReservedAttributes ?? false),
      [true, false],
    );
    assert.deepEqual(await attributesOf(runId), { $kind: 'agent', $owner: 'library', plain: 'too' });
  });

  row('written by the workflow: exactly three events, the last wins, undefined removes', async () => {
    const runId = await app.begin('workflowWrites');
    const { writers, writes } = await ended(runId);
    assert.deepEqual(writers, ['workflow', 'workflow', 'workflow']);
    assert.deepEqual(writes[2].changes, [{ key: 'gone', value: null }]);
    assert.deepEqual(await attributesOf(runId), { phase: 'two' });
  });

  row('written by a step: the events say which one', async () => {
    const runId = await app.begin('attributesOfStep');
    const { writers, writes } = await ended(runId);
    assert.deepEqual(writers, ['step', 'step']);
    const [step] = await api.steps(runId);
    for (const { writer } of writes) assert.deepEqual([writer.stepId, writer.attempt], [step.stepId, 1]);
    assert.deepEqual(await attributesOf(runId), { one: '1' });
  });

  row('writes that are not awaited: they are stored when the run has ended', async () => {
    const runId = await app.begin('fireAndForget');
    const { writers } = await ended(runId);
    assert.deepEqual(writers, ['workflow', 'workflow', 'workflow']);
    assert.deepEqual(await attributesOf(runId), { a: 'a', b: 'b', c: 'c' });
  });

  row('three writes side by side: all of them', async () => {
    const runId = await app.begin('parallelWrites');
    const { writers } = await ended(runId);
    assert.deepEqual(writers, ['workflow', 'workflow', 'workflow']);
    assert.deepEqual(await attributesOf(runId), { a: 'a', b: 'b', c: 'c' });
  });

  row('a run that fails keeps them', async () => {
    const runId = await app.beginWith({ attributes: { source: 'start' } }, 'failsAfterWrite');
    const { error } = await ended(runId, { status: 'failed' });
    assert.match(error.message, /as planned/);
    assert.deepEqual(await attributesOf(runId), { source: 'start', phase: 'doomed' });
  });

  row('an invalid one: a fatal error that names the rule, no event, and the run continues', async () => {
    const runId = await app.begin('badWrites');
    const { value, writes } = await ended(runId);
    const rules = {
      'key too long': /key length 257 exceeds limit 256/,
      'value too long': /value byte length 258 exceeds limit 256/,
      reserved: /reserved prefix "\$"/,
      'empty key': /key must not be empty/,
      'value of another type': /must be a string or null, got number/,
      array: /plain object, got array/,
      null: /plain object, got null/,
      text: /plain object, got string/,
    };
    assert.deepEqual(Object.keys(value), Object.keys(rules));
    for (const [name, rule] of Object.entries(rules)) {
      assert.equal(value[name].fatal, true, name);
      assert.match(value[name].message, rule);
    }
    assert.equal(writes.length, 1);
    assert.deepEqual(await attributesOf(runId), { ['k'.repeat(256)]: 'ü'.repeat(128) });
  });

  row('64 on one run and not one more: the service counts, and a step can catch it', async () => {
    const runId = await app.begin('tooManyAttributes');
    const { value, writes } = await ended(runId);
    assert.deepEqual([value[1], value[3]], ['written', 'written']);
    for (const refused of [value[0], value[2]]) assert.match(refused, /exceed limit 64 \(post-merge 65\)/);
    assert.equal(writes.length, 2);
    assert.equal(Object.keys(await attributesOf(runId)).length, 64);
  });

  await Promise.all(rows);

  await t.test('invalid ones at the start: refused before the run exists', async () => {
    const before = (await api.runs()).length;
    const bad = [
      [{ attributes: { $kind: 'mine' } }, /reserved prefix/],
      [{ attributes: { key: 'ü'.repeat(129) } }, /byte length 258/],
      [{ attributes: { ['k'.repeat(257)]: 'v' } }, /key length 257/],
      [{ attributes: { '': 'v' } }, /must not be empty/],
      [{ attributes: { key: 5 } }, /string/],
      [{ attributes: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, 'v'])) }, /exceed limit 64/],
    ];
    for (const [options, rule] of bad) await assert.rejects(app.beginWith(options, 'addition', 1, 2), rule);
    assert.equal((await api.runs()).length, before);
  });
});
