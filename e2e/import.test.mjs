// @ts-check
// `world-redis import`: runs that an app began on the SDK's local World continue here.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Api } from './lib/api.mjs';
import { App } from './lib/app.mjs';
import { serviceBinary } from './lib/paths.mjs';
import { freePort, run } from './lib/process.mjs';
import { RedisServer } from './lib/redis.mjs';
import { sdks } from './lib/sdks.mjs';
import { Service } from './lib/service.mjs';
import { until } from './lib/wait.mjs';

for (const sdk of sdks) {
  test(`SDK ${sdk}: runs of the local World go on, and no finished step is executed again`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'world-redis-import-'));
    t.after(() => rm(folder, { recursive: true }));
    const env = { WORKFLOW_TARGET_WORLD: 'local', WORKFLOW_LOCAL_DATA_DIR: folder };
    const before = new App({ sdk, service: { clientEnv: {} }, port: await freePort(), env });
    t.after(() => before.stop());
    await before.start();
    const ended = await before.begin('par', 3);
    const streamed = await before.begin('streamer', 4, 10);
    await before.outcome(ended);
    await before.outcome(streamed);
    const sleeps = await before.begin('stampAndSleep', 3000);
    const waits = await before.begin('collect', `import ${sdk}`);
    const gets = await before.begin('hookwf', `import hook ${sdk}`);
    await until('the hook to be there', async () => (await before.hook(`import ${sdk}`)) !== undefined);
    await until('the other hook', async () => (await before.hook(`import hook ${sdk}`)) !== undefined);
    await before.resume(`import ${sdk}`, { n: 1 });
    await before.stop();

    const redis = await RedisServer.start();
    t.after(() => redis.stop());
    const options = { env: { WORKFLOW_REDIS_URL: redis.url } };
    const tried = await run(serviceBinary, ['import', folder, '--dry-run'], options);
    assert.equal(tried.code, 0, tried.tail);
    assert.match(tried.stdout, /^5 runs would be imported \(3 running, 2 completed\)/);
    const imported = await run(serviceBinary, ['import', folder, '--force'], options);
    assert.equal(imported.code, 0, imported.tail);
    assert.match(imported.stdout, /^5 runs imported \(3 running, 2 completed\)/);
    const deploymentId = imported.stdout.match(/WORKFLOW_DEPLOYMENT_ID=([^\s,]+)/)?.[1];
    assert.match(deploymentId ?? '', /^dpl_local@/);

    const service = new Service({ redis, port: await freePort() });
    t.after(() => service.stop());
    await service.start();
    const app = new App({ sdk, service, port: await freePort(), deploymentId });
    t.after(() => app.stop());
    await app.start();
    await app.resume(`import ${sdk}`, { n: 2, last: true });
    await app.resume(`import hook ${sdk}`, { n: 3 });
    assert.deepEqual((await app.outcome(waits)).value, [1, 2]);
    assert.equal((await app.outcome(gets)).status, 'completed');
    assert.equal((await app.outcome(sleeps)).status, 'completed');
    assert.equal((await app.outcome(ended)).status, 'completed');

    const api = new Api(service.url);
    for (const runId of [ended, streamed, sleeps, waits, gets]) {
      const events = await api.events(runId);
      const starts = events.filter((event) => event.eventType === 'step_started').map((event) => event.correlationId);
      assert.equal(new Set(starts).size, starts.length, `a step of ${runId} was executed twice: ${starts}`);
    }
    const again = await run(serviceBinary, ['import', folder, '--force'], options);
    assert.equal(again.code, 0, again.tail);
    assert.match(again.stdout, /^0 runs imported; 5 were there already/);
  });
}
