// The SDK's own tools on our client: the command line and the web page of workflow 4.8.9.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { appFolder, clientFolder, nodeOf, workflowCLI, world } from './lib/paths.mjs';
import { Child, freePort, run } from './lib/process.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const { decode } = createRequire(clientFolder)('cbor-x');

for (const sdk of sdks) {
  test(`SDK ${sdk}: workflow inspect, cancel, health and web`, async (t) => {
    const { app, api, service } = await startStack(t, { sdk, token: 'cli-token' });
    const runId = await app.begin('par', 3);
    assert.equal((await app.outcome(runId)).status, 'completed');
    const streamed = await app.begin('streamer', 4, 10);
    assert.equal((await app.outcome(streamed)).status, 'completed');
    const options = { cwd: appFolder(sdk), env: { ...service.clientEnv, WORKFLOW_NO_UPDATE_CHECK: '1' } };

    /** Runs the tool; it must end by itself, with 0, and print nothing on stdout but JSON. */
    const workflow = async (...args) => {
      const { code, stdout, tail } = await run(nodeOf(sdk), [workflowCLI(sdk), ...args, '--json', '--backend', world], options);
      assert.equal(code, 0, `workflow ${args.join(' ')}: ${tail}`);
      return JSON.parse(stdout);
    };

    await t.test('inspect runs', async () => {
      const { data, hasMore } = await workflow('inspect', 'runs');
      assert.deepEqual(data.map((r) => [r.runId, r.status]), [[streamed, 'completed'], [runId, 'completed']]);
      assert.equal(hasMore, false);
    });

    await t.test('inspect one run, with its data', async () => {
      const one = await workflow('inspect', 'run', runId, '--withData');
      assert.equal(one.runId, runId);
      assert.deepEqual(one.input, [3]);
      assert.equal(one.output, 6);
    });

    await t.test('inspect steps', async () => {
      const steps = await workflow('inspect', 'steps', '--runId', runId, '--withData');
      assert.deepEqual(steps.map((s) => s.output).sort(), [1, 2, 3]);
    });

    await t.test('inspect events', async () => {
      const events = await workflow('inspect', 'events', '--runId', runId, '--sort', 'asc', '--limit', '100');
      assert.deepEqual(events.map((e) => e.eventId), (await api.events(runId)).map((e) => e.eventId));
    });

    await t.test('inspect streams', async () => {
      const streams = await workflow('inspect', 'streams', '--runId', streamed);
      assert.equal(streams.length, 1);
      assert.equal(streams[0].runId, streamed);
    });

    await t.test('health: the queue answers for both routes', async () => {
      const { code, stdout, tail } = await run(nodeOf(sdk), [workflowCLI(sdk), 'health', '--json', '--backend', world], options);
      assert.equal(code, 0, tail);
      assert.equal(JSON.parse(stdout).allHealthy, true, stdout);
    });

    await t.test('cancel', async () => {
      const sleeping = await app.begin('naps', 60_000);
      await until('the timer', async () => (await api.events(sleeping)).some((e) => e.eventType === 'wait_created'));
      const { code, tail } = await run(nodeOf(sdk), [workflowCLI(sdk), 'cancel', sleeping, '--backend', world], options);
      assert.equal(code, 0, tail);
      assert.equal((await app.outcome(sleeping)).status, 'cancelled');
    });

    await t.test('web: the page comes up and has our runs', async () => {
      const port = await freePort();
      const args = [workflowCLI(sdk), 'web', '--backend', world, '--noBrowser', '--webPort', String(port)];
      const web = new Child('workflow web', nodeOf(sdk), args, options);
      /** Asks the page's server what the page would ask it. */
      const rpc = async (method, params) => {
        const response = await fetch(`http://localhost:${port}/api/rpc`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ method, params: { worldEnv: {}, ...params } }),
        });
        const answer = decode(new Uint8Array(await response.arrayBuffer()));
        assert.equal(answer.success, true, `${method}: ${JSON.stringify(answer)}`);
        return answer.data;
      };
      try {
        const page = await until('the page', () => fetch(`http://localhost:${port}/`).then((r) => r.ok && r.text()), { child: web });
        assert.match(page, /<html/i);
        const runs = await rpc('fetchRuns', { params: {} });
        assert.ok(runs.data.some((r) => r.runId === runId), 'the list has our run');
        assert.equal((await rpc('fetchRun', { runId })).status, 'completed');
        const events = await rpc('fetchEvents', { runId, params: { sortOrder: 'asc', limit: 100 } });
        assert.deepEqual(events.data.map((e) => e.eventId), (await api.events(runId)).map((e) => e.eventId));
        assert.equal((await rpc('fetchStreams', { runId: streamed })).length, 1);
      } finally {
        await web.end('SIGTERM');
      }
    });
  });
}
