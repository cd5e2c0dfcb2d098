// @ts-check
// Errors and retries: what is thrown where, how often it is tried, and what the run, its steps and the tools show.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { checkQueueEmpty } from './lib/invariants.mjs';
import { appFolder, nodeOf, workflowCLI, world } from './lib/paths.mjs';
import { run as runCommand } from './lib/process.mjs';
import { rowsOn, textOf, typesOf } from './lib/rows.mjs';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';

/** A payload of SDK v5 without the names of its formats; a long one is compressed. */
const plainText = ({ data }) => {
  const bytes = Buffer.from(data, 'base64');
  const [format, content] = [bytes.toString('latin1', 0, 4), bytes.subarray(4)];
  if (format !== 'zstd') return content.toString('utf8');
  return zstdDecompressSync(content).subarray(4).toString('utf8');
};

const sourceLines = (file) => readFileSync(new URL(`apps/workflows/${file}.ts`, import.meta.url), 'utf8').split('\n');

for (const sdk of sdks) {
  test(`SDK ${sdk}: errors`, { concurrency: true }, async (t) => {
    const stack = await startStack(t, { sdk });
    const { app, api, service } = stack;
    const { completes, value, fails, stepsOf } = rowsOn(stack);

    /** The run's stored error: in v4 fields, in v5 the SDK's bytes next to the code. */
    const keeps = ({ error, errorCode }, message) => {
      if (sdk === 'v4') {
        assert.deepEqual([error.message, error.code], [message, 'USER_ERROR']);
      } else {
        assert.equal(errorCode, 'USER_ERROR');
        assert.ok(textOf(error).includes(message));
      }
    };

    /** The output of the SDK's command line, with data. */
    const inspect = async (...what) => {
      const args = [workflowCLI(sdk), 'inspect', ...what, '--withData', '--json', '--backend', world];
      const options = { cwd: appFolder(sdk), env: { ...service.clientEnv, WORKFLOW_NO_UPDATE_CHECK: '1' } };
      const { code, stdout, tail } = await runCommand(nodeOf(sdk), args, options);
      assert.equal(code, 0, tail);
      return JSON.parse(stdout);
    };

    /** The stack in a row of the service, unchanged: a field in v4, part of the bytes in v5. */
    const storedStack = ({ error }) => (sdk === 'v4' ? error.stack : JSON.parse(plainText(error)).find((part) => /^\w*Error: .*\n/.test(part)));

    /** Frames as the SDK's builds name them: in v4 by file, line and column of the source, in v5 by module. */
    const frame = (name, file) => new RegExp(sdk === 'v4' ? `at ${name} \\(workflows/${file}\\.ts:(\\d+):\\d+\\)` : `at ${name} \\(\\./workflows/[\\w-]+:(\\d+):\\d+\\)`);

    await Promise.all([
      ...[
        ['nestedThrow', 'from the innermost function', { innermost: 'errors', inBetween: 'errors', nestedThrow: 'errors' }],
        ['crossFileThrow', 'from afar by the workflow', { deepDown: 'errors-helper', throwFromAfar: 'errors-helper', crossFileThrow: 'errors' }],
      ].map(([workflow, message, functions]) =>
        t.test(`${workflow}: the error has its message and the functions that it went through`, async () => {
          const { runId, run, error, events } = await fails(workflow, [], 'USER_ERROR');
          assert.ok(error.message.includes(message));
          assert.equal(error.cause.message, message);
          for (const [name, file] of Object.entries(functions)) assert.match(error.cause.stack, frame(name, file));
          keeps(run, message);
          assert.equal(storedStack(run), error.cause.stack);
          if (workflow === 'crossFileThrow') {
            const { error: shown } = await inspect('run', runId);
            assert.equal(shown.stack ?? shown.cause?.stack, error.cause.stack);
          }
          if (sdk === 'v4') {
            const [name, file] = Object.entries(functions)[0];
            const line = Number(error.cause.stack.match(frame(name, file))[1]); // from 1 on, and one too few by the SDK's map
            assert.match(
              sourceLines(file)
                .slice(line - 1, line + 1)
                .join('\n'),
              /new Error\(/,
              'the first frame is the line that made the error',
            );
          }
          assert.deepEqual(typesOf(events), ['run_created', 'run_started', 'run_failed']);
        }),
      ),

      .../** @type {[afar: boolean, step: string, message: string, functions: string[]][]} */ ([
        [false, 'failsHere', 'from the step', ['failsHere']],
        [true, 'failsAfar', 'from afar by the step', ['deepDown', 'throwFromAfar', 'failsAfar']],
      ]).map(([afar, step, message, functions]) =>
        t.test(`${step}: caught, with message and stack${afar ? '; the tools show them too' : ''}`, async () => {
          const { runId, value: seen } = await value('stepErrorCaught', afar);
          assert.equal(seen.caught, true);
          assert.ok(seen.message.includes(message));
          for (const name of functions) assert.match(seen.stack, new RegExp(`at ${name} `));
          assert.deepEqual(await stepsOf(runId), [[step, 'failed', 1]]);
          const [row] = await api.steps(runId);
          assert.equal(storedStack(row), seen.stack);
          if (!afar) return; // once is enough: the tool starts slowly
          assert.equal(seen.stack, await app.thrown(), 'as the step threw it');
          const [listed] = await inspect('steps', '--runId', runId);
          assert.equal(listed.status, 'failed');
          assert.ok(listed.error.message.includes(message));
          assert.equal(listed.error.stack, seen.stack);
        }),
      ),

      t.test('two attempts fail, the third is the last', async () => {
        const { runId, events } = await completes('crashes', [3], 3);
        assert.deepEqual(await stepsOf(runId), [['crashUntil', 'completed', 3]]);
        const steps = typesOf(events).filter((type) => type.startsWith('step_'));
        const [again, once] = [
          ['step_started', 'step_retrying'],
          ['step_started', 'step_completed'],
        ];
        assert.deepEqual(steps, ['step_created', ...again, ...again, ...once]);
      }),

      t.test('a fatal error: one attempt', async () => {
        const { runId, run } = await fails('fatal', ['no such luck'], 'USER_ERROR');
        assert.deepEqual(await stepsOf(runId), [['failForGood', 'failed', 1]]);
        keeps(run, 'no such luck');
      }),

      t.test('no retries: one attempt', async () => {
        const { runId, events } = await fails('noRetries', [], 'USER_ERROR');
        assert.deepEqual(await stepsOf(runId), [['once', 'failed', 1]]);
        assert.ok(!typesOf(events).includes('step_retrying'));
      }),

      t.test('a retry after ten seconds comes neither early nor with another start', async () => {
        const { runId, value: seen, events } = await value('retryAfterTenSeconds');
        assert.equal(seen.attempt, 2);
        assert.ok(seen.waited >= 9_000, `waited ${seen.waited} ms since the first start`);
        const [first, second] = events.filter((e) => e.eventType === 'step_started').map((e) => e.createdAt);
        assert.ok(second - first >= 10_000, `${second - first} ms between the starts`);
        const [step] = await api.steps(runId);
        assert.deepEqual([step.status, step.attempt, step.startedAt], ['completed', 2, first]);
      }),

      t.test('a workflow that the app does not have', async () => {
        const { error } = await fails('workflow//./workflows/nowhere//ghost', [], 'RUNTIME_ERROR');
        assert.match(error.message, /not registered/);
      }),

      t.test('a step that the app does not have: caught', async () => {
        const { runId, value: seen } = await value('unknownStepCaught');
        assert.equal(seen.caught, true);
        assert.match(seen.message, /not registered/);
        assert.deepEqual(await stepsOf(runId), [['ghost', 'failed', 1]]);
      }),

      t.test('a step that the app does not have: the end of the run', async () => {
        const { runId, error } = await fails('unknownStep', [], 'USER_ERROR');
        assert.match(error.message, /not registered/);
        assert.deepEqual(await stepsOf(runId), [['ghost', 'failed', 1]]);
      }),

      ...(sdk === 'v5' ? onlyV5(t, rowsOn(stack)) : []),
    ]);

    await t.test('each delivery was acknowledged, and nothing is left in the queue', async () => {
      await checkQueueEmpty(stack);
      assert.doesNotMatch(service.tail, /level=(WARN|ERROR)/);
    });
  });
}

function onlyV5(t, { completes, fails, stepsOf }) {
  const details = { code: 'E_PLAIN', nested: { list: [1, 'two', null] } };
  return [
    t.test('a fatal error keeps class, flag and cause on its way out of a step', async () => {
      const seen = { name: 'FatalError', message: 'it is over', fatal: true, cause: 'TypeError: the reason', kinds: [true, true, true] };
      const { runId } = await completes('fatalWithCauseCaught', [], seen);
      assert.deepEqual(await stepsOf(runId), [['throwFatal', 'failed', 1]]);
    }),

    t.test('a fatal error keeps them on its way out of the run', async () => {
      const { run, error } = await fails('fatalWithCause', [], 'USER_ERROR');
      const { name, message, fatal, cause } = error.cause;
      assert.deepEqual([name, message, fatal, cause.name, cause.message], ['FatalError', 'it is over', true, 'TypeError', 'the reason']);
      assert.deepEqual([run.status, run.errorCode, run.error.__type], ['failed', 'USER_ERROR', 'Uint8Array']);
    }),

    t.test('a workflow throws a plain object: that is the cause', async () => {
      const { error } = await fails('throwsPlainObject', [], 'USER_ERROR');
      assert.deepEqual(error.cause, details);
    }),

    t.test('a step throws a plain object: a fatal error has it as its cause', async () => {
      const { runId, error } = await fails('stepThrowsPlainObject', [], 'USER_ERROR');
      const { name, fatal, cause } = error.cause;
      assert.deepEqual([name, fatal, cause], ['FatalError', true, details]);
      assert.deepEqual(await stepsOf(runId), [['throwDetails', 'failed', 1]]);
    }),

    ...[
      ['argument', 'take', 0],
      ['result', 'give', 1],
    ].flatMap(([what, step, attempts]) => {
      const story = ['step_created', ...Array(attempts).fill('step_started'), 'step_failed'];
      return [
        t.test(`unserializable ${what}: caught`, async () => {
          const { runId, events } = await completes('unserializableCaught', [what], 'SerializationError');
          assert.deepEqual(await stepsOf(runId), [[step, 'failed', attempts]]);
          assert.deepEqual(typesOf(events), ['run_created', 'run_started', ...story, 'run_completed']);
        }),
        t.test(`unserializable ${what}: the end of the run, at once`, async () => {
          const { runId, error, events } = await fails('unserializable', [what], 'USER_ERROR');
          assert.equal(error.cause.name, 'SerializationError');
          assert.deepEqual(await stepsOf(runId), [[step, 'failed', attempts]]);
          assert.deepEqual(typesOf(events), ['run_created', 'run_started', ...story, 'run_failed']);
        }),
      ];
    }),
  ];
}
