// @ts-check
// Webhooks: an HTTP request from anywhere, through the service or directly to the app, to a waiting run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

for (const sdk of sdks) {
  test(`SDK ${sdk}: webhooks`, async (t) => {
    const { app, api, service } = await startStack(t, { sdk });

    const waiting = async () => {
      const runId = await app.begin('webhook');
      const [hook] = await until('the webhook', async () => {
        const hooks = await api.hooks(runId);
        return hooks.length > 0 && hooks;
      });
      return { runId, path: `/.well-known/workflow/v1/webhook/${encodeURIComponent(hook.token)}` };
    };

    for (const [way, base] of [
      ['through the service', service.url],
      ['straight to the app', app.url],
    ]) {
      await t.test(`${way}: 202, and the run has the request`, async () => {
        const { runId, path } = await waiting();
        const response = await fetch(`${base}${path}?x=1`, { method: 'PUT', headers: { 'x-note': 'ring ring' }, body: 'grüße 🔔' });
        assert.equal(response.status, 202);
        assert.equal(await response.text(), '');
        const { status, value } = await app.outcome(runId);
        assert.equal(status, 'completed');
        assert.deepEqual({ ...value, path: undefined }, { method: 'PUT', path: undefined, note: 'ring ring', body: 'grüße 🔔' });
        await checkEndedRun(api, runId);
      });
    }

    await t.test('an unknown token: 404', async () => {
      const response = await fetch(`${service.url}/.well-known/workflow/v1/webhook/nobody`, { method: 'POST', body: 'x' });
      assert.equal(response.status, 404);
    });

    await t.test('the token of an ordinary hook is not public: 404, and the hook still waits', async () => {
      const runId = await app.begin('hookwf', 'not-public');
      await until('the hook', async () => (await api.hooks(runId)).length === 1);
      const response = await fetch(`${service.url}/.well-known/workflow/v1/webhook/not-public`, { method: 'POST', body: 'x' });
      assert.equal(response.status, 404);
      await app.resume('not-public', 'inside');
      assert.deepEqual(await app.outcome(runId), { status: 'completed', value: 'inside' });
      const events = await checkEndedRun(api, runId);
      assert.equal(events.filter((e) => e.eventType === 'hook_received').length, 1);
    });
  });
}
