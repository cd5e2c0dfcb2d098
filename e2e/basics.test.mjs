// @ts-check
// Steps, metadata, shapes of values and functions, webhooks' answers and the resilient start, on SDK v4 and v5.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { checkEndedRun } from './lib/invariants.mjs';
import { portOf } from './lib/process.mjs';
import { rowsOn, textOf, typesOf } from './lib/rows.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

const THREE_ADDS = 'workflow//./workflows/basics//threeAdds';
const WEBHOOK = '/.well-known/workflow/v1/webhook/';

for (const sdk of sdks) {
  test(`SDK ${sdk}: basics`, { concurrency: true }, async (t) => {
    const stack = await startStack(t, { sdk });
    const { app, api } = stack;
    const { completes, completed, value, stepsOf } = rowsOn(stack);

    await Promise.all([
      t.test('three adds: the run has the input, the output and the name of the form that tools know', async () => {
        const { run, runId, events } = await completes(THREE_ADDS, [123], 133);
        assert.deepEqual([run.status, run.workflowName, textOf(run.input), textOf(run.output)], ['completed', THREE_ADDS, 'devl[[1],123]', 'devl[133]']);
        assert.deepEqual(await stepsOf(runId), Array(3).fill(['addTen', 'completed', 1]));
        const step = ['step_created', 'step_started', 'step_completed'];
        assert.deepEqual(typesOf(events), ['run_created', 'run_started', ...step, ...step, ...step, 'run_completed']);
      }),

      t.test('three adds of another file: the same names, other code', async () => {
        const { runId } = await completes('workflow//./workflows/basics-twin//threeAdds', [123], 133.5);
        const names = (await api.steps(runId)).map((s) => s.stepName);
        assert.deepEqual(names, Array(3).fill('step//./workflows/basics-twin//addTen'));
      }),

      t.test('the latest deployment is the only one', async () => {
        const { run } = await completed(await app.beginOn('latest', 'addition', 1, 2), 3);
        assert.equal(run.deploymentId, 'dpl_world-redis');
      }),

      t.test('metadata: a workflow and its step see the same run, and a step nothing more of it', async () => {
        const { runId, run, value: seen } = await value('allMetadata');
        assert.deepEqual(seen.run, seen.workflow);
        const { workflowRunId, workflowName, workflowStartedAt, url, features } = seen.run;
        assert.deepEqual([workflowRunId, workflowName], [runId, 'workflow//./workflows/basics//allMetadata']);
        assert.equal(new URL(url).port, new URL(app.url).port);
        if (sdk === 'v5') assert.equal(features.encryption, false);
        assert.deepEqual(Object.keys(seen.step).sort(), ['attempt', 'stepId', 'stepName', 'stepStartedAt']);
        const [step] = await api.steps(runId);
        const { stepId, stepName, attempt, stepStartedAt } = seen.step;
        assert.deepEqual([stepId, stepName, attempt], [step.stepId, 'step//./workflows/basics//seenByStep', 1]);
        // v5 does not wait for the answers that name the starts: it takes its own clock for a first delivery (contract §4.2).
        const starts = [workflowStartedAt, stepStartedAt].map((text) => new Date(text).getTime());
        if (sdk === 'v4') assert.deepEqual(starts, [run.startedAt, step.startedAt]);
      }),

      t.test('metadata in a module that a step calls', async () => {
        const { runId, value: seen } = await value('metadataFromHelper', 'from afar');
        const [{ stepId }] = await api.steps(runId);
        assert.deepEqual(seen, { label: 'from afar', runId, stepId, attempt: 1 });
      }),

      t.test('fetch in a workflow: the answer is kept, its body is a stream', async () => {
        const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end('{"title":"grüße 🔔"}'));
        await once(server.listen(0, '127.0.0.1'), 'listening');
        try {
          const url = `http://127.0.0.1:${portOf(server)}/`;
          const { runId } = await completes('fetches', [url], { status: 200, kind: 'application/json', json: { title: 'grüße 🔔' } });
          assert.deepEqual(
            (await stepsOf(runId)).map(([, status, attempt]) => [status, attempt]),
            Array(2).fill(['completed', 1]),
          );
        } finally {
          server.closeAllConnections();
          server.close();
        }
      }),

      t.test('the service has checked the app at its address before there was work for it', () =>
        until('the line in the log', () => stack.service.output.includes(`msg="a workflow app answers at this address" app=${app.url} `)),
      ),

      t.test('a step outside of a run is a function', async () => assert.equal(await app.direct('basics-twin', 'addTen', -2.5), 8)),

      t.test('a step as an argument: one step', async () => {
        const { runId } = await completes('stepAsArgument', [10], 40);
        assert.deepEqual(await stepsOf(runId), [['callTwice', 'completed', 1]]);
      }),
      t.test('closures', () => completes('closures', [21], ['number 21!', 'number 21?'])),
      t.test('this of call and apply', () => completes('boundThis', [], 300)),
      t.test('a class and its static methods', () => completes('classes', [], { statics: [16, 50, 150], mirrored: [-1, -2], isPoint: true })),
      t.test('a class on its way through the workflow', () => completes('passedOn', [3, 4], { x: -3, y: -4, isPoint: true })),
      t.test('methods that are steps', async () => {
        const { runId } = await completes('methods', [1], { values: [11, 111], isCounter: true });
        const names = ['Counter#plus', 'Counter#plus', 'Counter#read', 'Counter#read'];
        assert.deepEqual(
          await stepsOf(runId),
          names.map((name) => [name, 'completed', 1]),
        );
      }),
      t.test('steps that capture the this of a method around them', async () => {
        for (const [workflow, value] of [
          ['capturedThis', 105],
          ['capturedThisOfArrow', 35],
        ]) {
          const { runId } = await completes(workflow, [5], value);
          const steps = await stepsOf(runId);
          assert.deepEqual(
            steps.map(([, status, attempt]) => [status, attempt]),
            [['completed', 1]],
          );
        }
      }),

      t.test('a class that only steps know', async () => {
        const { runId } = await completes('vectors', [], [11, 22, 33]);
        const names = ['makeVector', 'makeVector', 'addVectors', 'partsOf'];
        assert.deepEqual(
          await stepsOf(runId),
          names.map((name) => [name, 'completed', 1]),
        );
      }),

      t.test('resilient start: without its first event, a run is created from its message, by a World that was spread', async () => {
        const { runId, calls } = await app.beginWithoutEvents(THREE_ADDS, 123);
        assert.deepEqual(calls, ['run_created']);
        await until('the run to be made', () => api.run(runId));
        const { run, events } = await completed(runId, 133);
        assert.deepEqual([run.workflowName, run.deploymentId, textOf(run.input)], [THREE_ADDS, 'dpl_world-redis', 'devl[[1],123]']);
        assert.deepEqual(typesOf(events.slice(0, 2)), ['run_created', 'run_started']);
      }),

      // BR-04 asks for 1,000: E2E_LATE_STARTS=1000.
      t.test('BR-04: messages are faster than the first events of their runs, by up to half a second: no start fails, no run has two beginnings', async () => {
        const count = Number(process.env.E2E_LATE_STARTS ?? 40);
        const { outcomes } = await app.lateFlood('addition', [1, 2], count, 20, 500);
        assert.equal(outcomes.length, count);
        for (const { runId, status, value } of outcomes) {
          assert.deepEqual([status, value], ['completed', 3], runId);
          await checkEndedRun(api, runId);
          assert.notDeepEqual((await api.run(runId)).input, undefined);
        }
      }),

      t.test('three webhooks, in the order of their creation: the default answer, a fixed one, and one that a step gives', async () => {
        const runId = await app.begin('threeWebhooks');
        const hooks = await until('the webhooks', async () => {
          const all = await api.hooks(runId);
          return all.length === 3 && all;
        });
        const seen = [];
        for (const [i, [status, text]] of [
          [202, ''],
          [402, 'pay first'],
          [200, 'you said three'],
        ].entries()) {
          const url = `${app.url}${WEBHOOK}${encodeURIComponent(hooks[i].token)}`;
          const body = ['one', 'two', 'three'][i];
          const response = await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(60_000) });
          assert.deepEqual([response.status, await response.text()], [status, text]);
          seen.push({ url, method: 'POST', body });
        }
        assert.deepEqual(await app.outcome(runId), { status: 'completed', value: seen });
        const events = await checkEndedRun(api, runId);
        assert.equal(events.filter((e) => e.eventType === 'hook_created').length, 3);
      }),

      ...(sdk === 'v4' ? ['flow', 'step'] : ['flow']).map((route) =>
        t.test(`the health of the route ${route} over HTTP, with the spec version that our World tells this SDK`, async () => {
          const url = `${app.url}/.well-known/workflow/v1/${route}?__health`;
          const response = await fetch(url, { method: 'POST' });
          const { healthy, endpoint, specVersion } = /** @type {any} */ (await response.json());
          assert.deepEqual([response.status, healthy, endpoint, specVersion], [200, true, new URL(url).pathname, sdk === 'v4' ? 3 : 7]);
          assert.equal((await fetch(url, { method: 'HEAD' })).status, 200);
        }),
      ),

      t.test('a webhook for which no run waits: 404, no body', async () => {
        const response = await fetch(`${app.url}${WEBHOOK}nobody`, { method: 'POST', body: 'x' });
        assert.deepEqual([response.status, await response.text()], [404, '']);
      }),

      ...(sdk === 'v5' ? onlyV5(t, stack) : []),
    ]);

    assert.doesNotMatch(stack.service.tail, /level=(WARN|ERROR)/, 'every delivery was acknowledged');
  });
}

function onlyV5(t, { app, api }) {
  const { completes, completed, stepsOf } = rowsOn({ app, api });
  return [
    t.test('a step as the argument of a run', () => completes('stepToRun', [4], { here: 8, once: 8, twice: 16 })),

    t.test('getters that are steps', async () => {
      const { runId } = await completes('getters', [], [15, 22, 200]);
      assert.deepEqual(
        await stepsOf(runId),
        ['area', 'around', 'area'].map((name) => [`Box#${name}`, 'completed', 1]),
      );
    }),

    t.test('errors of every class, with cause, inner errors and time of the next try', async () => {
      const classes = ['Error: plain', 'TypeError: type', 'RangeError: range', 'SyntaxError: syntax', 'ReferenceError: reference', 'EvalError: eval', 'URIError: uri'];
      await completes(
        'errorsAround',
        [],
        [
          ...classes.map((text) => ({ sameClass: true, text, cause: 'TypeError: the cause' })),
          { sameClass: true, text: 'AggregateError: aggregate', cause: 'TypeError: the cause', inner: ['Error: inner', 'TypeError: the cause'] },
          { sameClass: true, text: 'FatalError: fatal', cause: 'TypeError: the cause' },
          { sameClass: true, text: 'RetryableError: retryable', retryAfter: '1970-01-02T00:00:00.000Z' },
        ],
      );
    }),

    t.test('all features in one run; the timer of half a minute that lost its race is harmless', async () => {
      const runId = await app.begin('retainedMix', 'delta');
      await until('the hook', async () => (await api.hooks(runId)).length === 1);
      await app.resume('delta', { delta: 5 });
      const { events } = await completed(runId, [3, 3, 13, 23, 13, 24, 'step', 137, 142]);
      assert.equal(events.filter((e) => e.eventType === 'wait_completed').length, 1);
    }),
  ];
}
