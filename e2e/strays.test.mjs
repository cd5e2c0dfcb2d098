// @ts-check
// Messages for steps that are not in the log of their run. An app cannot process one: the run is woken instead, and
// recovery does not count it as a message that will wake the run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const STEP = 'step_01JZZZZZZZZZZZZZZZZZZZZZZZ';
/** Deletes everything in the queue, as after a power cut. */
const loseTheQueue = (redis) => redis.command('EVAL', "for _, key in ipairs(redis.call('KEYS', '*{workflow_*')) do redis.call('DEL', key) end return 1", 0);

for (const sdk of sdks) {
  test(`SDK ${sdk}: a message for a step that is not in the log wakes its run, and does not hinder recovery`, async (t) => {
    const { app, api, redis, service } = await startStack(t, { sdk, serviceEnv: { WORKFLOW_WORLD_RECOVERY_AFTER: '3s' }, warns: [/nothing that would wake it/] });
    const plant = async (runId, more) => {
      const { workflowName, deploymentId, startedAt, specVersion } = await api.run(runId);
      const v4 = sdk === 'v4';
      const message = v4 ? { workflowName, workflowRunId: runId, workflowStartedAt: startedAt, stepId: STEP } : { runId, stepId: STEP, stepName: 'step//./workflows/basic//add' };
      const queueName = v4 ? '__wkf_step_step//./workflows/basic//add' : `__wkf_workflow_${workflowName}`;
      const carried = v4 ? { message } : { jsonMessage: JSON.stringify(message) };
      const body = JSON.stringify({ queueName, ...carried, deploymentId, specVersion, ...more });
      const { status, text } = await api.request('/v1/queue', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      assert.equal(status, 200, text);
      return JSON.parse(text).messageId;
    };
    const [now, later] = await Promise.all([app.begin('naps', 1_500), app.begin('naps', 1_501)]);
    for (const runId of [now, later]) await until('the sleep', async () => (await api.events(runId)).some((e) => e.eventType === 'wait_created'));
    await until('quiet', async () => (await redis.command('LLEN', 'asynq:{workflow_flows}:active')) === 0);
    await loseTheQueue(redis);
    const message = await plant(now);
    const delayed = await plant(later, { delaySeconds: 3_600 });

    assert.deepEqual(await app.outcome(now, 30_000), { status: 'completed', value: 'awake' });
    assert.match(service.tail, new RegExp(`a message for a step is dropped: the log of the run has no such step.*message=${message} run_id=${now}`));
    assert.deepEqual(await app.outcome(later, 30_000), { status: 'completed', value: 'awake' });
    assert.match(service.tail, new RegExp(`nothing that would wake it.*${later}`));
    assert.doesNotMatch(service.tail, new RegExp(`nothing that would wake it.*${now}`));
    for (const runId of [now, later]) await checkEndedRun(api, runId);
    await until('the delayed one to be gone', async () => (await api.request(`/v1/queue/messages/${delayed}`)).status === 404);
  });
}
