import assert from 'node:assert/strict';
import { test } from 'node:test';
import { part } from './helpers/client.js';

const { eventDataToWire, reviveEntity, reviveEvent } = part<typeof import('../build/wire/timestamps.js')>('wire/timestamps');

const ms = 1700000000123;

test('every timestamp of an entity is a Date', () => {
  const timestamps = ['createdAt', 'updatedAt', 'startedAt', 'completedAt', 'expiredAt', 'retryAfter', 'resumeAt', 'tokenRetentionUntil', 'occurredAt'];
  const entity = reviveEntity(Object.fromEntries(timestamps.map((key) => [key, ms]))) as Record<string, unknown>;
  for (const key of timestamps) assert.deepEqual(entity[key], new Date(ms), key);
});

test('an absent field is absent: a null off the wire is dropped', () => {
  assert.deepEqual(reviveEntity({ runId: 'r', output: null, completedAt: null }), { runId: 'r' });
});

test('nothing inside payloads or the execution context is changed', () => {
  const inside = { createdAt: ms, gone: null };
  const run = reviveEntity({ executionContext: { ...inside }, input: { ...inside }, attempt: 3 });
  assert.deepEqual(run, { executionContext: inside, input: inside, attempt: 3 });
});

test('event data: its own timestamps are Dates, its payloads and nulls stay', () => {
  const event = reviveEvent({
    createdAt: ms,
    correlationId: null,
    eventData: { resumeAt: ms, retryAfter: ms, createdAt: ms, payload: null, error: { retryAfter: ms } },
  });
  assert.deepEqual(event, {
    createdAt: new Date(ms),
    eventData: {
      resumeAt: new Date(ms),
      retryAfter: new Date(ms),
      createdAt: ms,
      payload: null,
      error: { retryAfter: ms },
    },
  });
});

test('sending: Dates become milliseconds, the caller keeps its own object', () => {
  const mine = { resumeAt: new Date(ms), token: 't', error: { retryAfter: new Date(ms) } };
  const wire = eventDataToWire(mine) as Record<string, unknown>;
  assert.equal(wire['resumeAt'], ms);
  assert.deepEqual(wire['error'], { retryAfter: new Date(ms) });
  assert.deepEqual(mine.resumeAt, new Date(ms));
});
