// @ts-check
// Runs that have left Redis for the archive: the SDK, its command line and the API see what they saw before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appFolder, nodeOf, workflowCLI, world } from './lib/paths.mjs';
import { Postgres } from './lib/postgres.mjs';
import { run } from './lib/process.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

for (const sdk of ['v4', 'v5']) {
  test(`SDK ${sdk}: a run that is in PostgreSQL`, async (t) => {
    const postgres = await Postgres.start();
    t.after(() => postgres.end());
    const serviceEnv = { WORKFLOW_WORLD_ARCHIVE: postgres.url, WORKFLOW_WORLD_ARCHIVE_AFTER: '3s' };
    const { app, api, service, redis } = await startStack(t, { sdk, serviceEnv, warns: [/archive/] });
    const runId = await app.begin('par', 3);
    const streamed = await app.begin('streamer', 4, 10);
    const sleeping = await app.begin('naps', 60_000);
    const before = { run: await app.outcome(runId), stream: await app.outcome(streamed), chunks: await app.stream(streamed) };
    assert.deepEqual(before.run, { status: 'completed', value: 6 });

    /** What the API says of the two runs. */
    const look = async () => {
      const [{ name }] = [{ name: (await api.get(`/v1/runs/${streamed}/streams`)).data[0] }];
      return {
        runs: await Promise.all([api.run(runId), api.run(streamed)]),
        list: (await api.runs()).map((r) => [r.runId, r.status]),
        steps: await api.steps(runId),
        events: await api.events(runId),
        page: await api.get(`/v1/runs/${runId}/events?limit=2`),
        chunks: await api.get(`/v1/streams/${name}/chunks`),
      };
    };
    const looked = await look();
    await until('the runs to be archived', () => postgres.query('SELECT run_id FROM world_redis.runs').length === 2);
    for (const id of [runId, streamed]) {
      await until('the run to leave Redis', async () => !String(await redis.command('KEYS', `*:run:{${id}}`)).includes(id));
    }

    assert.deepEqual(await look(), looked);
    assert.deepEqual(await app.outcome(runId), before.run);
    assert.deepEqual(await app.outcome(streamed), before.stream);
    assert.deepEqual(await app.stream(streamed), before.chunks);

    const options = { cwd: appFolder(sdk), env: { ...service.clientEnv, WORKFLOW_NO_UPDATE_CHECK: '1' } };
    const inspect = async (...args) => {
      const { code, stdout, tail } = await run(nodeOf(sdk), [workflowCLI(sdk), 'inspect', ...args, '--json', '--backend', world], options);
      assert.equal(code, 0, tail);
      return JSON.parse(stdout);
    };
    const one = await inspect('run', runId, '--withData');
    assert.deepEqual([one.runId, one.status, one.input, one.output], [runId, 'completed', [3], 6]);
    const { data } = await inspect('runs');
    assert.deepEqual(
      data.map((r) => r.runId),
      [sleeping, streamed, runId],
    );

    // While PostgreSQL is down, Redis answers what it can.
    postgres.stop();
    assert.equal((await api.run(sleeping)).runId, sleeping);
    assert.equal((await fetch(`${service.url}/v1/runs/${runId}`)).status, 503);
    postgres.resume();
    await until('the archive to be back', async () => (await fetch(`${service.url}/v1/runs/${runId}`)).ok);
  });
}
