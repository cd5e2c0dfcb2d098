// @ts-check
// An app accepts work only from the service, which signs its deliveries (BR-26).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun, checkQueueEmpty } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const [oldKey, newKey] = ['the-old-key-of-them', 'the-new-key-of-them'];
const appEnv = { WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS: '10' };
const keys = (...names) => ({ WORKFLOW_WORLD_SIGNING_KEY: names.join(',') });
const forged = (runId) => ({
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'x-vqs-queue-name': '__wkf_workflow_x',
    'x-vqs-message-id': 'msg_1',
    'x-vqs-message-attempt': '1',
  },
  body: JSON.stringify({ runId }),
});

for (const sdk of sdks) {
  test(`SDK ${sdk}: with a token, only signed deliveries run anything`, async (t) => {
    const stack = await startStack(t, { sdk, token: 'secret' });
    const { app, api } = stack;
    const runId = await app.begin('seq', 3);
    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 3 });
    await checkEndedRun(api, runId);
    await checkQueueEmpty(stack);
    for (const route of sdk === 'v4' ? ['flow', 'step'] : ['flow']) {
      const answer = await fetch(`${app.url}/.well-known/workflow/v1/${route}`, forged(runId));
      assert.equal(answer.status, 401, route);
      const { error } = /** @type {any} */ (await answer.json());
      assert.match(error, /the signature is missing/);
    }
  });

  test(`SDK ${sdk}: the key is changed under load, one side after the other: every run completes`, async (t) => {
    const stack = await startStack(t, { sdk, serviceEnv: keys(newKey, oldKey), appEnv: { ...appEnv, ...keys(oldKey) } });
    const { app, api } = stack;
    const runIds = await Promise.all(Array.from({ length: 10 }, () => app.begin('busy', 6)));
    await until('work to be under way', async () => (await api.runs('running')).length > 0);

    await app.stop();
    app.env = { ...appEnv, ...keys(newKey) };
    await app.start();

    for (const runId of runIds) {
      assert.deepEqual(await app.outcome(runId, 60_000), { status: 'completed', value: 720 }, runId);
      await checkEndedRun(api, runId);
    }
    await checkQueueEmpty(stack);
    assert.doesNotMatch(stack.service.tail, /refused the signature/);

    // The end of the rotation: the old key is removed while a run is in progress.
    const runId = await app.begin('naps', 2_000);
    assert.equal(await stack.service.stop(), 0);
    stack.service.configure(keys(newKey));
    await stack.service.start();
    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 'awake' });
    await checkEndedRun(api, runId);
    await checkQueueEmpty(stack);
    assert.doesNotMatch(stack.service.tail, /refused the signature/);
  });

  test(`SDK ${sdk}: with a wrong key runs wait, uncharged, and continue once it is right`, async (t) => {
    const stack = await startStack(t, { sdk, serviceEnv: keys(newKey), appEnv: keys(oldKey) });
    const { app, api } = stack;
    const runId = await app.begin('seq', 2);
    await until('the reason in the log', () => /refused the signature: set the same/.test(stack.service.tail));
    assert.deepEqual(
      (await api.events(runId)).map((e) => e.eventType),
      ['run_created'],
    );

    await app.stop();
    app.env = keys(newKey);
    await app.start();

    assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 2 });
    await checkEndedRun(api, runId);
    await checkQueueEmpty(stack);
  });
}
