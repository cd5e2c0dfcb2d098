// @ts-check
// BR-37: values above the service's size limit, here 200,000 bytes. The SDKs have no error for that. A step whose
// result is too large fails permanently, which its workflow can catch. A value that the workflow itself sends ends
// the run at the first delivery: v5 does so for its output, and the service for the rest.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import { test } from 'node:test';
import { App } from './lib/app.mjs';
import { checkQueueEmpty } from './lib/invariants.mjs';
import { freePort, portOf } from './lib/process.mjs';
import { rowsOn, typesOf } from './lib/rows.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { tooLarge } from './lib/warns.mjs';

const limit = 200_000;
const size = 300_000;

for (const sdk of sdks) {
  test(`SDK ${sdk}: BR-37: values that are too big`, async (t) => {
    const stack = await startStack(t, { sdk, serviceEnv: { WORKFLOW_WORLD_MAX_BODY: String(limit) }, warns: [tooLarge] });
    const { app, service } = stack;
    const { value, fails, completes, stepsOf } = rowsOn(stack);
    const named = new RegExp(`the body has \\d{6} bytes, the limit is ${limit} \\(WORKFLOW_WORLD_MAX_BODY\\)`);

    await t.test('the result of a step: the workflow can catch it', async () => {
      const before = await app.deliveries();
      const { runId, value: seen, events } = await value('bigResult', size);
      assert.equal(seen.caught, 'FatalError', JSON.stringify(seen).slice(0, 500));
      assert.match(seen.message, /The result of the step is too large/);
      assert.match(seen.message, named);
      assert.deepEqual(await stepsOf(runId), [['gives', 'failed', 1]]);
      assert.deepEqual(typesOf(events), ['run_created', 'run_started', 'step_created', 'step_started', 'step_failed', 'run_completed']);
      await checkQueueEmpty(stack);
      const { flow, step } = await app.deliveries();
      assert.deepEqual([flow - before.flow, step - before.step], sdk === 'v4' ? [2, 1] : [1, 0]);
    });

    await t.test('the result of a step: uncaught, it is the end of the run', async () => {
      const { runId, error } = await fails('bigResultUncaught', [size], 'USER_ERROR');
      assert.match(error.message, named);
      assert.deepEqual(await stepsOf(runId), [['gives', 'failed', 1]]);
    });

    // The events of such a run before the refusal: those of siblings vary, so they are left out.
    for (const workflow of ['bigArgument', 'bigMetadata', 'bigArgumentBesides', ...(sdk === 'v4' ? ['bigOutput'] : [])]) {
      await t.test(`${workflow}: the run fails at its first delivery and says why; nothing is delivered again`, async () => {
        const before = await app.deliveries();
        const { runId, run, error, events } = await fails(workflow, [size], 'PAYLOAD_TOO_LARGE');
        assert.match(error.message, /A value of this run is too large/);
        assert.match(error.message, named);
        assert.equal(run.status, 'failed');
        assert.equal(typesOf(events).filter((type) => type === 'run_failed').length, 1);
        if (workflow !== 'bigArgumentBesides') {
          assert.deepEqual(typesOf(events), ['run_created', 'run_started', 'run_failed']);
          assert.deepEqual(await stepsOf(runId), []);
        }
        await checkQueueEmpty(stack);
        const { flow, step } = await app.deliveries();
        // A sibling that was running may end after its run, and wake it once more.
        if (workflow === 'bigArgumentBesides') assert.ok(flow - before.flow <= 2, `${flow - before.flow} deliveries`);
        else assert.deepEqual([flow - before.flow, step - before.step], [1, 0]);
      });
    }

    if (sdk === 'v5') {
      await t.test('the output of the run: it fails and says why', async () => {
        const { error, events } = await fails('bigOutput', [size], 'USER_ERROR');
        assert.match(error.message, named);
        assert.deepEqual(typesOf(events), ['run_created', 'run_started', 'run_failed']);
      });
    }

    await t.test('arguments that are too big only together are accepted', () => completes('bigTogether', [12, 40_000], 480_000));

    await t.test('a proxy in front of the service with a lower limit: its 413 is in the error of the run', async (t) => {
      // 0.8 of the limit: SDK v5 compresses it to 0.66, which is still above the proxy's limit.
      const proxy = await startNarrowProxy(t, service.url, limit / 2);
      const behind = new App({ sdk, service: { clientEnv: { WORKFLOW_WORLD_URL: proxy } }, port: await freePort(), deploymentId: 'dpl_behind' });
      t.after(() => behind.stop());
      await behind.start();
      const said = (message) =>
        assert.match(message, new RegExp(`${proxy}/v1/runs/wrun_.* answered 413, and not by world-redis: something .* refuses a body of 1\\d{5} bytes. Raise its limit`));
      const caught = await behind.outcome(await behind.begin('bigResult', limit * 0.8));
      assert.equal(caught.value?.caught, 'FatalError', JSON.stringify(caught).slice(0, 500));
      said(caught.value.message);
      const { status, error } = await behind.outcome(await behind.begin('bigArgument', limit * 0.8));
      assert.deepEqual([status, error.code], ['failed', 'PAYLOAD_TOO_LARGE']);
      said(error.message);
      await checkQueueEmpty(stack);
    });

    await t.test('the log names the runs', () => assert.match(service.tail, /a run was failed, because it has a value that is too large.*run_id=wrun_/));
  });
}

/** A proxy for the service at `target` that answers 413 to bodies of more than `most` bytes, like nginx, and accepts no WebSockets. */
async function startNarrowProxy(t, target, most) {
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    if (Number(headers['content-length'] ?? 0) > most) {
      incoming.resume();
      return outgoing.writeHead(413, { 'content-type': 'text/html' }).end('<html><center><h1>413 Request Entity Too Large</h1></center></html>');
    }
    const onward = send(target + url, { method, headers }, (answer) => answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers)));
    onward.on('error', () => incoming.socket.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${portOf(server)}`;
}
