import assert from 'node:assert/strict';
import { test } from 'node:test';
import { part } from './helpers/client.js';

const { failedForSize, parting } = part<typeof import('../build/wire/tooLarge.js')>('wire/tooLarge');

const refused = { code: 'too_large', message: 'the body has 9 bytes, the limit is 8' } as const;
const sentence = `The result of the step is too large: ${refused.message}`;

test('a step whose result is too large fails for good, with an error of its SDK, and without the result', () => {
  const completed = { eventType: 'step_completed', correlationId: 'step_1', eventData: { stepName: 's', workflowName: 'w', result: new Uint8Array(9) } };
  const failed = { eventType: 'step_failed', correlationId: 'step_1' };
  const names = { stepName: 's', workflowName: 'w' };
  assert.deepEqual(failedForSize({ ...completed, specVersion: 3 }, refused), { ...failed, specVersion: 3, eventData: { ...names, error: sentence } });
  const { eventData } = failedForSize({ ...completed, specVersion: 7 }, refused) as { eventData: { error: Uint8Array } };
  const written = `devl[["FatalError",1],{"message":2,"stack":3},"${sentence}","FatalError: ${sentence}"]`;
  assert.deepEqual({ ...eventData, error: new TextDecoder().decode(eventData.error) }, { ...names, error: written });
});

test('a batch is split as near to its middle as the events of one entity allow', () => {
  const cases: [string, number | undefined][] = [
    ['', undefined],
    ['a', undefined],
    ['aa', undefined],
    ['ab', 1],
    ['abc', 1],
    ['aabb', 2],
    ['aab', 2],
    ['aaab', 3],
    ['abbb', 1],
    ['aabbccd', 2],
  ];
  for (const [entities, at] of cases) assert.equal(parting([...entities]), at, entities);
});
