// BR-37: values that are more than the service takes, here 200,000 bytes. The SDKs have no error for that. What a step returns
// is tried again as if the step had thrown, and can be caught in the end; v5 fails a run whose output is too big. What else
// the workflow itself sends is taken for a failure of the World: its message comes again, with growing pauses, until the SDK
// gives up. What the run waits for has the reason all along.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOn, typesOf } from './lib/rows.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const limit = 200_000;
const size = 300_000;

for (const sdk of sdks) {
  test(`SDK ${sdk}: BR-37: values that are too big`, { concurrency: true }, async (t) => {
    const stack = await startStack(t, { sdk, serviceEnv: { WORKFLOW_WORLD_MAX_BODY: String(limit) } });
    const { app, api, service } = stack;
    const { value, stepsOf } = rowsOn(stack);
    const named = new RegExp(`the body has \\d{6} bytes, the limit is ${limit} \\(WORKFLOW_WORLD_MAX_BODY\\)`);

    await Promise.all([
      t.test('the result of a step: the workflow can catch it', async () => {
        const { runId, value: seen } = await value('bigResult', size);
        assert.equal(seen.caught, 'FatalError', JSON.stringify(seen).slice(0, 500));
        const [[name, status]] = await stepsOf(runId);
        assert.deepEqual([name, status], ['gives', 'failed']);
      }),

      ...(sdk === 'v5' ? ['bigArgument'] : ['bigArgument', 'bigOutput']).map((workflow) =>
        t.test(`${workflow}: nothing of it is there, the reason can be seen, and the run can be cancelled`, async () => {
          const runId = await app.begin(workflow, size);
          await until('the reason', async () => named.test((await api.request(`/v1/runs/${runId}/messages`)).text));
          assert.deepEqual(typesOf(await api.events(runId)), ['run_created', 'run_started']);
          assert.deepEqual(await api.steps(runId), []);
          await app.cancel(runId);
          assert.equal((await app.outcome(runId)).status, 'cancelled');
        }),
      ),

      ...(sdk === 'v5'
        ? [
            t.test('the output of the run: it fails and says why', async () => {
              const runId = await app.begin('bigOutput', size);
              const { status, error } = await app.outcome(runId);
              assert.deepEqual([status, error.name], ['failed', 'WorkflowRunFailedError']);
              assert.match(error.message, named);
              assert.deepEqual(typesOf(await api.events(runId)), ['run_created', 'run_started', 'run_failed']);
            }),
          ]
        : []),
    ]);
  });
}
