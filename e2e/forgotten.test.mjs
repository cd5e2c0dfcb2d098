// Messages are lost around the queue: Redis lost its last second, a process died between two writes. Runs go on all the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

/** Everything that the queue holds is gone, as after a power cut. */
const loseTheQueue = (redis) =>
  redis.command('EVAL', "for _, key in ipairs(redis.call('KEYS', '*{workflow_*')) do redis.call('DEL', key) end return 1", 0);

for (const sdk of sdks) {
  test(`SDK ${sdk}: a run whose messages are lost is woken and goes on; one that is parked on its hook is left alone`, async (t) => {
    const stack = await startStack(t, { sdk, serviceEnv: { WORKFLOW_WORLD_RECOVERY_AFTER: '3s' } });
    const { app, api, redis, service } = stack;
    const sleeping = await app.begin('naps', 1_500);
    const parked = await app.begin('hookwf', 'parked');
    await until('the sleep', async () => (await api.events(sleeping)).some((e) => e.eventType === 'wait_created'));
    await until('the hook', async () => (await api.hooks(parked)).length === 1);
    await until('quiet', async () => (await redis.command('LLEN', 'asynq:{workflow_flows}:active')) === 0);
    await loseTheQueue(redis);
    const before = await app.deliveries();

    assert.deepEqual(await app.outcome(sleeping, 60_000), { status: 'completed', value: 'awake' });
    await checkEndedRun(api, sleeping);
    assert.match(service.tail, new RegExp(`nothing that would wake it.*${sleeping}`));
    const { text } = await api.request('/metrics');
    assert.match(text, /^world_redis_runs_woken_total 1$/m);
    assert.doesNotMatch(service.tail, new RegExp(`nothing that would wake it.*${parked}`));
    assert.ok((await app.deliveries()).flow > before.flow);

    await app.resume('parked', 'at last');
    assert.deepEqual(await app.outcome(parked), { status: 'completed', value: 'at last' });
    await checkEndedRun(api, parked);
  });
}
