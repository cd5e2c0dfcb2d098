// @ts-check
// Runs that have ended leave Redis when their time is over, and nothing but the marks against late calls names them afterwards.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sdks } from './lib/sdks.mjs';
import { startStack } from './lib/stack.mjs';
import { until } from './lib/wait.mjs';

/** Returns the keys that name ARGV[1], or hold something that does. */
const NAMING = `
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind, held = redis.call('TYPE', key).ok, {}
  if kind == 'hash' then held = redis.call('HGETALL', key) end
  if kind == 'zset' then held = redis.call('ZRANGE', key, 0, -1) end
  if kind == 'set' then held = redis.call('SMEMBERS', key) end
  if kind == 'list' then held = redis.call('LRANGE', key, 0, -1) end
  if kind == 'string' then held = {redis.call('GET', key)} end
  held[#held + 1] = key
  for _, text in ipairs(held) do
    if string.find(text, ARGV[1], 1, true) then found[#found + 1] = key break end
  end
end
return found`;

/** What refuses late calls and late writers for an hour, and what remembers calls for minutes. */
const MARKS = /^workflow:(run_removed|streams:by_run|stream_meta|stream_req|request):|^workflow:queue:\{\w+\}:request:|^workflow:sweep$/;

for (const sdk of sdks) {
  test(`SDK ${sdk}: runs whose time is over are gone`, async (t) => {
    const { app, api, redis } = await startStack(t, { sdk, serviceEnv: { WORKFLOW_WORLD_RETENTION: 'completed=4s,hookwf:completed=1d' } });
    const naming = async (runId) => (await redis.command('EVAL', NAMING, 0, runId.replace('wrun_', ''))).filter((key) => !MARKS.test(key));
    const gone = async (runId) => {
      await until(`the end of ${runId}`, async () => (await api.request(`/v1/runs/${runId}`)).status === 404);
      await until(`the last key of ${runId}`, async () => (await naming(runId)).length === 0, { timeout: 20_000 });
    };

    const kept = await app.begin('hookwf', 'kept');
    const streamed = await app.begin('ticker', 3, 1);
    await until('the hook', async () => (await api.hooks(kept)).length === 1);
    await app.resume('kept', 'x');
    assert.equal((await app.outcome(kept)).status, 'completed');
    const { outcomes } = await app.flood('addition', [1, 2], 10, 10);
    assert.ok((await naming(outcomes[0].runId)).length > 3);
    for (const runId of [streamed, ...outcomes.map((o) => o.runId)]) await gone(runId);
    assert.equal((await api.run(kept)).status, 'completed');
    assert.deepEqual(await api.events(streamed), []);
    assert.deepEqual(
      (await api.runs()).map((run) => run.runId),
      [kept],
    );

    if (sdk !== 'v5') return;
    const own = await app.beginWith({ attributes: { $retention: '1s' }, allowReservedAttributes: true }, 'nestedThrow');
    await gone(own);
  });
}
