// @ts-check
// One order through the three routes of an example: start, sleep, hook, stream, result.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { until } from '../../e2e/lib/wait.mjs';

const READY_MS = 180_000; // in development, the first request compiles
const RUN_MS = 120_000;

/**
 * @param {string} url  of the app
 * @param {import('../../e2e/lib/process.mjs').Child} child  the app's process
 */
export async function order(url, child) {
  const id = `A-${randomUUID().slice(0, 8)}`;
  const { runId } = await until('the app to start a run', () => call(`${url}/api/start`, { id, cents: 1250 }, 30_000), { timeout: READY_MS, every: 200, child });
  assert.match(runId, /^wrun_/);
  const readyAt = performance.now();
  // The hook is there when its workflow has come to it.
  await until('the hook', () => call(`${url}/api/resume/order-${id}`, { by: 'Ada' }), { timeout: RUN_MS, every: 200, child });
  const ended = async () => {
    const answer = await call(`${url}/api/result/${runId}`);
    if (answer.status === 'failed') return answer;
    return answer.status === 'completed' && answer;
  };
  const { status, result, stream } = await until('the end of the run', ended, { timeout: RUN_MS, every: 100, child });
  assert.deepEqual(
    { status, result, stream },
    {
      status: 'completed',
      result: { order: id, cents: 1740, by: 'Ada', parcel: `parcel-${id}` },
      stream: 'priced at 1740 cents\napproved by Ada\n',
    },
  );
  return { runId, readyAt, endedAt: performance.now() };
}

/** @returns {Promise<any>} */
async function call(url, body, patience = 20_000) {
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: body && { 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(patience),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${new URL(url).pathname} answered ${response.status}: ${text.slice(0, 500)}`);
  return text ? JSON.parse(text) : {};
}
