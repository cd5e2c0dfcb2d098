/** Many callers of a service that has little memory for them: each waits its turn, and nothing fails or is done twice. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RedisWorld } from '../build/index.js';
import { createWorld } from './helpers/client.js';
import { newRunId } from './helpers/ids.js';
import { Service } from './helpers/service.js';

const CALLERS = 64;
const MIB = 1024 * 1024;

let service: Service;
let world: RedisWorld;
before(async () => {
  service = await Service.start({ WORKFLOW_WORLD_MEMORY: String(8 * MIB) });
  world = createWorld({ url: service.url });
});
after(async () => {
  await world.close();
  await service.stop();
});

const each = <T>(what: (i: number) => Promise<T>) => Promise.all(Array.from({ length: CALLERS }, (_, i) => what(i)));
const filled = (i: number, size: number) => new Uint8Array(size).fill(i);

test('64 callers write and read values of a megabyte at once', { timeout: 120_000 }, async () => {
  const runIds = await each(async (i) => {
    const runId = newRunId();
    const eventData = { deploymentId: 'd', workflowName: 'w', input: filled(i, MIB) };
    await world.events.create(runId, { eventType: 'run_created', specVersion: 3, eventData });
    return runId;
  });
  const runs = await each((i) => world.runs.get(runIds[i] as string));
  runs.forEach((run, i) => assert.deepEqual((run as { input: Uint8Array }).input, filled(i, MIB)));
});

test('64 steps whose inputs are too large together for one answer are started once each', { timeout: 120_000 }, async () => {
  const runId = newRunId();
  const send = (eventType: string, correlationId: string | undefined, eventData: object) =>
    world.events.create(runId, { eventType, specVersion: 3, eventData, ...(correlationId !== undefined && { correlationId }) });
  await send('run_created', undefined, { deploymentId: 'd', workflowName: 'w', input: new Uint8Array(1) });
  await send('run_started', undefined, {});
  await each((i) => send('step_created', `step_${i}`, { stepName: 's', input: filled(i, MIB / 4) }));
  const started = (await each((i) => send('step_started', `step_${i}`, {}))) as { step: { attempt: number; input: Uint8Array } }[];
  started.forEach(({ step }, i) => {
    assert.equal(step.attempt, 1);
    assert.deepEqual(step.input, filled(i, MIB / 4));
  });
});
