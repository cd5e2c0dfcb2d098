/** BR-11, wrong error names: each refusal has the name, the fields and the `.is()` that the SDK acts on. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { createWorld } from './helpers/client.js';
import { type About, eventOf } from './helpers/events.js';
import { type Answer, drop, Fake, json } from './helpers/fake.js';
import { newHookId, newRunId, newStepId, newWaitId } from './helpers/ids.js';
import { Real, typesOf } from './helpers/real.js';
import { RedisServer } from './helpers/redis.js';
import { isRetryable, refused } from './helpers/refused.js';
import { SPECS, type Spec, sdkOf, worldAs } from './helpers/sdk.js';
import { Service } from './helpers/service.js';

const real = Real.forThisFile({ env: { WORKFLOW_WORLD_MAX_BODY: '1000000' } });

for (const spec of SPECS) {
  describe(`BR-11 on SDK ${sdkOf(spec)}, spec ${spec}`, () => {
    let world: RedisWorld;
    before(async () => {
      world = await real.world(spec);
    });
    const create = (runId: string, kind: string, about: Partial<About> = {}) => world.events.create(runId, eventOf(kind, spec, { id: newStepId(), token: 'no token', ...about }));

    test('a missing run is WorkflowRunNotFoundError', async () => {
      const runId = newRunId();
      const expected = { name: 'WorkflowRunNotFoundError', runId, message: `Workflow run "${runId}" not found` };
      await refused(world.runs.get(runId), expected);
      await refused(world.runs.waitForTerminalStatus(runId, { timeoutMs: 1000 }), expected);
      await refused(world.runs.experimentalSetAttributes(runId, [{ key: 'a', value: 'b' }]), expected);
      for (const kind of ['run_started', 'run_completed', 'run_failed', 'run_cancelled', 'step_created', 'hook_created', 'wait_created']) {
        await refused(create(runId, kind), expected);
      }
    });

    test('a missing hook is HookNotFoundError', async () => {
      const runId = await real.run(world, spec);
      const id = newHookId();
      await refused(world.hooks.get(id), { name: 'HookNotFoundError', token: id, message: 'Hook not found' });
      await refused(world.hooks.getByToken('a/b c'), { name: 'HookNotFoundError', token: 'a/b c' });
      await refused(create(runId, 'hook_received', { id }), { name: 'HookNotFoundError', token: id });
      await refused(create(runId, 'hook_disposed', { id }), { name: 'HookNotFoundError', token: id });
    });

    test('a missing step, wait and event are WorkflowWorldError 404, in the words that the SDK looks for', async () => {
      const runId = await real.run(world, spec);
      const id = newStepId();
      const missing = { name: 'WorkflowWorldError', status: 404, message: `Step "${id}" not found` };
      await refused(world.steps.get(runId, id), missing);
      for (const kind of ['step_started', 'step_completed', 'step_failed', 'step_retrying']) await refused(create(runId, kind, { id }), missing);
      await refused(create(runId, 'wait_completed', { id }), { ...missing, message: `Wait "${id}" not found` });
      await refused(world.events.get(runId, 'evnt_00000000000000000000000099'), { name: 'WorkflowWorldError', status: 404 });
    });

    test('a duplicate create is EntityConflictError', async () => {
      const runId = await real.run(world, spec);
      await refused(create(runId, 'run_created'), { name: 'EntityConflictError', message: /already exists/ });
      for (const [kind, id] of [
        ['step_created', newStepId()],
        ['hook_created', newHookId()],
        ['wait_created', newWaitId()],
      ] as const) {
        await create(runId, kind, { id, token: id });
        await refused(create(runId, kind, { id, token: id }), { name: 'EntityConflictError', message: /already (exists|created)/ });
      }
    });

    test('a transition of a run that is over is EntityConflictError, its start RunExpiredError', async () => {
      for (const end of ['run_completed', 'run_failed', 'run_cancelled']) {
        const runId = await real.run(world, spec, newStepId(), end);
        for (const kind of ['run_completed', 'run_failed', 'step_created', 'hook_created', 'wait_created']) {
          await refused(create(runId, kind), { name: 'EntityConflictError' });
        }
        await refused(create(runId, 'run_started'), { name: 'RunExpiredError' });
        await refused(create(runId, 'step_started'), { name: 'RunExpiredError' });
      }
    });

    test('step_started before retryAfter is TooEarlyError with the seconds that are left', async () => {
      const id = newStepId();
      const runId = await real.run(world, spec, id, 'step_created', 'step_started');
      await create(runId, 'step_retrying', { id, retryAfter: new Date(Date.now() + 60_000) });
      const { retryAfter } = await refused(create(runId, 'step_started', { id }), { name: 'TooEarlyError' });
      assert.ok(retryAfter === 60 || retryAfter === 59, `${retryAfter} s`);
      assert.equal((await world.steps.get(runId, id)).attempt, 1);
    });

    test('a body too big is a clear 413, final, and the run is as it was', async () => {
      const runId = await real.run(world, spec);
      const event = { ...eventOf('step_created', spec, { id: newStepId() }), eventData: { stepName: 's', input: new Uint8Array(1_000_000) } };
      const message = /^the body has 1000\d{3} bytes, the limit is 1000000 /;
      const expected = { name: 'WorkflowWorldError', status: 413, code: 'too_large', message };
      const error = await refused(world.events.create(runId, event), expected);
      assert.equal(isRetryable(error), false);
      assert.deepEqual(await typesOf(world, runId), ['run_created', 'run_started']);
    });
  });
}

describe('BR-11, trouble on the way', () => {
  let fake: Fake;
  let world: RedisWorld;
  before(async () => {
    fake = await Fake.start(json(200, {}));
    world = createWorld({ url: fake.url, retryForMs: 0, timeoutMs: 1000 });
  });
  after(async () => {
    await world.close();
    await fake.stop();
  });
  const call = () => world.events.create(newRunId(), eventOf('run_started', 3, { id: '' }));
  const throttled = json(429, { error: { name: 'ThrottleError', message: 'slow down', retryAfter: 7 } });
  const internal = json(500, { error: { name: 'WorkflowWorldError', message: 'm', code: 'internal' } });
  const bare =
    (status: number, headers: Record<string, string> = {}): Answer =>
    (response) =>
      void response.writeHead(status, headers).end('sorry');
  const worldError = { name: 'WorkflowWorldError' };
  const cases: [what: string, answer: Answer, expected: { name: string; [field: string]: unknown }][] = [
    ['a throttled call', throttled, { name: 'ThrottleError', retryAfter: 7, message: 'slow down' }],
    ['a throttled call, refused by a proxy', bare(429, { 'retry-after': '3' }), { name: 'ThrottleError', retryAfter: 3 }],
    ...[500, 502, 503, 504].map((status): (typeof cases)[number] => [`a bare ${status}`, bare(status), { ...worldError, status }]),
    ['an internal error', internal, { ...worldError, status: 500, code: 'internal' }],
    ['a connection that breaks', drop, { ...worldError, code: 'TRANSPORT', status: undefined }],
    ['a service that says nothing', () => undefined, { ...worldError, code: 'TIMEOUT', status: undefined }],
  ];
  for (const [what, answer, expected] of cases) {
    test(`${what} is ${expected.name} ${expected['status'] ?? expected['code'] ?? ''} and may be tried again`, async () => {
      fake.next(answer);
      assert.equal(isRetryable(await refused(call(), expected)), true);
    });
  }

  test('a service that cannot be reached is TRANSPORT, with its address, and may be tried again', async () => {
    const nobody = await Fake.start(json(200, {}));
    await nobody.stop();
    const away = createWorld({ url: nobody.url, retryForMs: 0 });
    const error = await refused(away.runs.get('wrun_1'), { ...worldError, code: 'TRANSPORT', message: new RegExp(nobody.url) });
    assert.equal(isRetryable(error), true);
    await away.close();
  });

  test('a service without its Redis is 503 with Retry-After, and may be tried again', async () => {
    const redis = await RedisServer.start();
    const service = await Service.start({ WORKFLOW_REDIS_URL: redis.url });
    const lonely = await worldAs(7 satisfies Spec, service.url);
    try {
      const runId = await real.run(lonely, 7);
      await redis.stop();
      const expected = { ...worldError, status: 503, code: 'unavailable', retryAfter: 1 };
      for (const lost of [lonely.runs.get(runId), lonely.events.create(runId, eventOf('step_created', 7, { id: newStepId() }))]) {
        assert.equal(isRetryable(await refused(lost, expected)), true);
      }
    } finally {
      await lonely.close();
      await service.kill();
      await redis.stop();
    }
  });
});
