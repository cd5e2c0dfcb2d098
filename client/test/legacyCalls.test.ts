/** Which SDKs see the calls of those from before event sourcing. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { createWorld } from './helpers/client.js';

const globals = globalThis as Record<symbol, unknown>;
const marks = {
  cache: Symbol.for('@workflow/world//cache'),
  stubbedCache: Symbol.for('@workflow/world//stubbedCache'),
  v4: Symbol.for('@workflow/errors//FatalError'),
  v5: Symbol.for('@workflow/world//getWorldFn'),
  step: Symbol.for('WORKFLOW_STEP_CONTEXT_STORAGE'),
};
afterEach(() => {
  for (const mark of Object.values(marks)) delete globals[mark];
});

const LEGACY = {
  runs: ['create', 'update', 'cancel', 'pause', 'resume'],
  steps: ['create', 'update'],
  hooks: ['create', 'dispose'],
} as const;

/** The legacy calls that are found, each in every way in which a tool may look. */
function shown(world: RedisWorld): string[] {
  const copy = { ...world };
  const found = Object.entries(LEGACY).flatMap(([member, names]) => {
    const part = world[member as keyof typeof LEGACY];
    return names.map((name) => {
      const ways = [
        name in part,
        Object.keys(part).includes(name),
        name in { ...part },
        typeof (part as Record<string, unknown>)[name] === 'function',
        name in copy[member as keyof typeof LEGACY],
      ];
      assert.equal(new Set(ways).size, 1, `${member}.${name}: ${ways}`);
      return ways[0] ? `${member}.${name}` : '';
    });
  });
  return found.filter(Boolean);
}

const all = Object.entries(LEGACY).flatMap(([member, names]) => names.map((name) => `${member}.${name}`));

test('without an SDK, and with v4 or v5, the World does not show the calls of SDKs from before event sourcing', () => {
  const world = createWorld();
  assert.deepEqual(shown(world), []);
  for (const mark of [marks.v4, marks.v5, marks.step]) {
    globals[mark] = {};
    globals[marks.cache] = world;
    assert.deepEqual(shown(world), []);
    delete globals[mark];
  }
});

test('such an SDK gets them on the World that it made, whichever of its two it made first', () => {
  for (const mark of [marks.cache, marks.stubbedCache]) {
    const world = createWorld();
    globals[mark] = world;
    assert.deepEqual(shown(world), all);
    assert.equal(typeof world.runs.get, 'function');
    delete globals[mark];
  }
});

test('the members can be listed and replaced, as those of any object', () => {
  const world = createWorld();
  for (const member of ['runs', 'steps', 'hooks'] as const) assert.ok(Object.keys(world).includes(member));
  const mine = { ...world.runs };
  world.runs = mine;
  assert.equal(world.runs, mine);
});
