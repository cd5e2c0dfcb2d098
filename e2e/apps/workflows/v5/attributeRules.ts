// Attributes: who writes them, what they survive, and what may not be written.
import { FatalError, setAttributes, sleep } from 'workflow';

async function stepWrites() {
  'use step';
  await setAttributes({ one: '1', two: '2' });
  await setAttributes({ two: undefined });
}

/** Exactly three writes of its own: the last wins, undefined removes. */
export async function workflowWrites() {
  'use workflow';
  await setAttributes({ phase: 'one', gone: 'soon' });
  await setAttributes({ phase: 'two' });
  await setAttributes({ gone: undefined });
}

/** Writes only in a step. */
export async function attributesOfStep() {
  'use workflow';
  await stepWrites();
}

/** Waits for none of its writes, nor for anything after them. */
export async function fireAndForget() {
  'use workflow';
  for (const key of ['a', 'b', 'c']) void setAttributes({ [key]: key });
}

/** Three keys side by side, with a sleep and a replay after them. */
export async function parallelWrites() {
  'use workflow';
  await Promise.all(['a', 'b', 'c'].map((key) => setAttributes({ [key]: key })));
  await sleep(100);
}

/** Writes a reserved key by permission, then another key without. */
export async function reservedWrite() {
  'use workflow';
  await setAttributes({ $kind: 'agent' }, { allowReservedAttributes: true });
  await setAttributes({ plain: 'too' });
}

export async function failsAfterWrite() {
  'use workflow';
  await setAttributes({ phase: 'doomed' });
  throw new Error('as planned');
}

/** Tries each bad write; returns what was thrown, and writes a good one at last. */
export async function badWrites() {
  'use workflow';
  const bad: [string, unknown][] = [
    ['key too long', { ['k'.repeat(257)]: 'v' }],
    ['value too long', { key: 'ü'.repeat(129) }],
    ['reserved', { $mine: 'v' }],
    ['empty key', { '': 'v' }],
    ['value of another type', { key: 5 }],
    ['array', ['a']],
    ['null', null],
    ['text', 'text'],
  ];
  const thrown: Record<string, { fatal: boolean; message: string }> = {};
  for (const [name, attributes] of bad) {
    try {
      await setAttributes(attributes as Record<string, string>);
    } catch (error) {
      thrown[name] = { fatal: FatalError.is(error), message: (error as Error).message };
    }
  }
  await setAttributes({ ['k'.repeat(256)]: 'ü'.repeat(128) });
  return thrown;
}

async function writes(from: number, to: number) {
  'use step';
  const keys = Array.from({ length: to - from }, (_, i) => `k${from + i}`);
  try {
    await setAttributes(Object.fromEntries(keys.map((key) => [key, 'v'])));
    return 'written';
  } catch (error) {
    return (error as Error).message;
  }
}

/** 64 are allowed; neither 65 in one write nor one more beside the 64. */
export async function tooManyAttributes() {
  'use workflow';
  return [await writes(0, 65), await writes(0, 64), await writes(64, 65), await writes(0, 64)];
}
