// @ts-check
// The SDK's own tools with our client: the command line and the web page of SDK v4 and v5. `inspect steps` is in
// errors.test.mjs, because each call loads the SDK again, which takes seconds.
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

    /** Runs the tool; it must end by itself, with 0, and print only JSON on stdout. */
    const workflow = async (...args) => {
      const { code, stdout, tail } = await run(nodeOf(sdk), [workflowCLI(sdk), ...args, '--json', '--backend', world], options);
      assert.equal(code, 0, `workflow ${args.join(' ')}: ${tail}`);
      return JSON.parse(stdout);
    };

    await t.test('inspect runs', async () => {
      const { data, hasMore } = await workflow('inspect', 'runs');
      assert.deepEqual(
        data.map((r) => [r.runId, r.status]),
        [
          [streamed, 'completed'],
          [runId, 'completed'],
        ],
      );
      assert.equal(hasMore, false);
    });

    await t.test('inspect one run, with its data', async () => {
      const one = await workflow('inspect', 'run', runId, '--withData');
      assert.equal(one.runId, runId);
      assert.deepEqual(one.input, [3]);
      assert.equal(one.output, 6);
    });

    await t.test('inspect events', async () => {
      const events = await workflow('inspect', 'events', '--runId', runId, '--sort', 'asc', '--limit', '100');
      assert.deepEqual(
        events.map((e) => e.eventId),
        (await api.events(runId)).map((e) => e.eventId),
      );
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

    const idsOf = (list, key) => list.map((item) => item[key]);

    /** What the lists, the page of a run and its side bars show. */
    const looks = async (rpc, base) => {
      const everything = await api.runs();
      const first = await rpc('fetchRuns', { params: { limit: 2 } });
      const second = await rpc('fetchRuns', { params: { limit: 2, cursor: first.cursor } });
      assert.deepEqual(idsOf([...first.data, ...second.data], 'runId'), idsOf(everything, 'runId').slice(0, 4));
      const cancelled = await rpc('fetchRuns', { params: { status: 'cancelled' } });
      assert.deepEqual(idsOf(cancelled.data, 'runId'), idsOf(await api.runs('cancelled'), 'runId'));
      const { workflowName } = await api.run(runId);
      assert.deepEqual(idsOf((await rpc('fetchRuns', { params: { workflowName } })).data, 'runId'), [runId]);
      const one = await rpc('fetchRun', { runId });
      assert.deepEqual([one.runId, one.status, Buffer.from(one.output).toString()], [runId, 'completed', 'devl[6]']);

      const steps = await api.steps(runId);
      if (sdk === 'v4') assert.deepEqual(idsOf((await rpc('fetchSteps', { runId, params: {} })).data, 'stepId'), idsOf(steps, 'stepId').reverse());
      const [{ stepId }] = steps;
      const step = await rpc('fetchStep', { runId, stepId });
      assert.deepEqual([step.stepId, step.status, step.attempt], [stepId, 'completed', 1]);
      assert.ok(step.output instanceof Uint8Array);

      const log = await api.events(runId);
      const params = { sortOrder: 'asc', limit: 100 };
      const events = await rpc('fetchEvents', { runId, params });
      assert.deepEqual(
        events.data.map((e) => [e.eventId, e.eventType]),
        log.map((e) => [e.eventId, e.eventType]),
      );
      assert.equal((await rpc('fetchEvent', { runId, eventId: log[0].eventId })).eventType, 'run_created');
      const ofStep = await rpc('fetchEventsByCorrelationId', { correlationId: stepId, params: { ...params, runId } });
      assert.deepEqual(idsOf(ofStep.data, 'eventType'), ['step_created', 'step_started', 'step_completed']);

      const [name] = await rpc('fetchStreams', { runId: streamed });
      assert.deepEqual((await api.get(`/v1/runs/${streamed}/streams`)).data, [name]);
      const stream = await fetch(`${base}/api/stream/${name}?runId=${streamed}`);
      assert.deepEqual([stream.status, stream.headers.get('x-stream-done')], [200, 'true']);
      const chunks = await api.get(`/v1/streams/${name}/chunks`);
      const stored = Buffer.concat(chunks.data.map((chunk) => Buffer.from(chunk.data.data, 'base64')));
      assert.ok(stored.equals(Buffer.from(await stream.arrayBuffer())), 'every byte of the stream');

      assert.equal((await rpc('runHealthCheck', sdk === 'v4' ? { endpoint: 'workflow' } : {})).healthy, true);
    };

    /** What the page's buttons do. */
    const acts = async (rpc) => {
      const waiting = await app.begin('hookwf', 'of-the-page');
      await until('the hook', async () => (await api.hooks(waiting)).length === 1);
      const { data: hooks } = await rpc('fetchHooks', { params: { runId: waiting } });
      assert.deepEqual(idsOf(hooks, 'runId'), [waiting]);
      const { hookId } = hooks[0];
      assert.equal((await rpc('fetchHook', { hookId })).token, 'of-the-page');
      if (sdk === 'v5') assert.deepEqual(await rpc('fetchHookToken', { runId: waiting, hookId }), { token: 'of-the-page' });
      assert.equal((await rpc('resumeHook', { token: 'of-the-page', payload: { by: 'the page' } })).runId, waiting);
      assert.deepEqual(await app.outcome(waiting), { status: 'completed', value: { by: 'the page' } });

      const sleeping = async () => {
        const id = await app.begin('naps', 60_000);
        await until('the timer', async () => (await api.events(id)).some((e) => e.eventType === 'wait_created'));
        return id;
      };
      const woken = await sleeping();
      assert.deepEqual(await rpc('wakeUpRun', { runId: woken }), { stoppedCount: 1 });
      assert.deepEqual(await app.outcome(woken), { status: 'completed', value: 'awake' });
      const stopped = await sleeping();
      await rpc('reenqueueRun', { runId: stopped });
      await rpc('cancelRun', { runId: stopped });
      assert.equal((await app.outcome(stopped)).status, 'cancelled');
      if (sdk === 'v5') {
        const both = [await sleeping(), await sleeping()];
        const { summary } = await rpc('bulkCancelRuns', { runIds: both });
        assert.deepEqual([summary.requested, summary.cancelled], [2, 2]);
        for (const id of both) assert.equal((await app.outcome(id)).status, 'cancelled');
      }

      const again = await rpc('recreateRun', { runId });
      assert.notEqual(again, runId);
      assert.deepEqual(await app.outcome(again), { status: 'completed', value: 6 });
    };

    await t.test('web: the page comes up, and what it asks its server about our runs and does to them works', async () => {
      const port = await freePort();
      const args = [workflowCLI(sdk), 'web', '--backend', world, '--noBrowser', '--webPort', String(port)];
      const web = new Child('workflow web', nodeOf(sdk), args, options);
      /** Sends the requests of the page to its server. */
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
        const page = await until('the page', () => fetch(`http://localhost:${port}/`).then((r) => (r.ok ? r.text() : undefined)), { child: web });
        assert.match(page, /<html/i);
        await looks(rpc, `http://localhost:${port}`);
        await acts(rpc);
      } finally {
        await web.end('SIGTERM');
      }
    });
  });
}
