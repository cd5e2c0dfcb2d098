/** Calls over a WebSocket: what they save, and that nothing is lost or doubled when it breaks. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import type { RedisWorld } from '../build/index.js';
import { runChild } from './helpers/child.js';
import { createWorld, modulesFolder, part } from './helpers/client.js';
import { newRunId, newStepId } from './helpers/ids.js';
import { Real, typesOf } from './helpers/real.js';
import { Wire } from './helpers/wire.js';

const { decode, encode } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

const real = Real.forThisFile({ env: { WORKFLOW_WORLD_TOKEN: 'secret' } });
const endings: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const end of endings.reverse()) await end();
});

const input = new Uint8Array([1]);

async function wired() {
  const wire = await Wire.start(real.service.url);
  const world = createWorld({ url: wire.url, token: 'secret' });
  endings.push(
    () => wire.stop(),
    () => world.close(),
  );
  return { wire, world };
}

const event = (world: RedisWorld, runId: string, eventType: string, eventData?: object, correlationId?: string) =>
  world.events.create(runId, { eventType, specVersion: 3, correlationId, eventData });

async function startedRun(world: RedisWorld): Promise<string> {
  const runId = newRunId();
  await event(world, runId, 'run_created', { deploymentId: 'd', workflowName: 'w', input });
  await event(world, runId, 'run_started');
  return runId;
}

const makeStep = (world: RedisWorld, runId: string, stepId: string) => event(world, runId, 'step_created', { stepName: 's', input }, stepId);

/** Makes calls, one after the other, until `done`. */
async function until(done: () => boolean, call: () => Promise<unknown>): Promise<void> {
  for (let i = 0; !done(); i++) {
    assert.ok(i < 2_000, 'it does not happen');
    await call();
  }
}

test('a process that makes many calls uses a socket, and gets the same answers', async () => {
  const { wire, world } = await wired();
  const runId = await startedRun(world);
  await until(
    () => wire.answers > 0,
    () => world.runs.get(runId),
  );
  const before = wire.requests;
  const stepId = newStepId();
  const { step } = await makeStep(world, runId, stepId);
  assert.deepEqual([step.stepId, step.status, step.input], [stepId, 'pending', input]);
  await assert.rejects(makeStep(world, runId, stepId), { name: 'EntityConflictError' });
  await assert.rejects(world.runs.get(newRunId()), { name: 'WorkflowRunNotFoundError' });
  const steps = Array.from({ length: 40 }, newStepId);
  const made = await Promise.all(steps.map((id) => makeStep(world, runId, id)));
  assert.deepEqual(
    made.map(({ step }) => step.stepId),
    steps,
  );
  assert.deepEqual([wire.requests, wire.upgraded], [before, 1]);
});

test('BR-06: an answer is lost with its socket: the calls are repeated, and carried out once', async () => {
  const { wire, world } = await wired();
  const runId = await startedRun(world);
  let lost = 0;
  const steps: string[] = [];
  for (let round = 0; round < 5; round++) {
    await until(
      () => wire.answers > lost,
      () => world.runs.get(runId),
    );
    wire.lose = 1;
    lost = wire.answers + 1;
    const some = Array.from({ length: 20 }, newStepId);
    steps.push(...some);
    const made = await Promise.all([
      ...some.map((id) => makeStep(world, runId, id)),
      world.queue('__wkf_workflow_w', { runId }, { delaySeconds: 3600, idempotencyKey: `round ${round}` }),
    ]);
    assert.deepEqual(
      made.slice(0, 20).map((one) => (one as { step: { stepId: string } }).step.stepId),
      some,
    );
    assert.equal(wire.lose, 0);
  }
  assert.ok(wire.upgraded >= 5);
  const { data } = await world.events.list({ runId });
  assert.deepEqual(
    data
      .slice(2)
      .map((one) => one.correlationId)
      .sort(),
    steps.sort(),
  );
  const headers = { authorization: 'Bearer secret' };
  const messages = (await (await fetch(`${real.service.url}/v1/runs/${runId}/messages`, { headers })).json()) as { data: unknown[] };
  assert.equal(messages.data.length, 5);
});

test('a restart of the service goes unnoticed', async () => {
  const { wire, world } = await wired();
  const runId = await startedRun(world);
  await until(
    () => wire.answers > 0,
    () => world.runs.get(runId),
  );
  let going = true;
  const steps: string[] = [];
  const caller = async () => {
    while (going) {
      const stepId = newStepId();
      await makeStep(world, runId, stepId);
      steps.push(stepId);
    }
  };
  const callers = Promise.all([caller(), caller(), caller()]);
  for (const end of ['stop', 'kill'] as const) {
    await real.service[end]();
    await real.service.launch();
    const answers = wire.answers;
    await until(
      () => wire.answers > answers,
      () => world.runs.get(runId),
    );
  }
  going = false;
  await callers;
  assert.equal(wire.upgraded, 3);
  const { data } = await world.events.list({ runId });
  assert.deepEqual(
    data
      .slice(2)
      .map((one) => one.correlationId)
      .sort(),
    steps.sort(),
  );
  assert.deepEqual((await typesOf(world, runId)).slice(0, 2), ['run_created', 'run_started']);
});

test('an open socket does not keep a process alive, and close() ends it', async () => {
  const { wire, world } = await wired();
  const runId = await startedRun(world);
  const script = (end: string) => `
    const modules = ${JSON.stringify(modulesFolder)};
    const { connectionTo } = require(modules + '/transport/connection.js');
    const world = require(modules + '/index.js').createWorld();
    (async () => {
      for (let i = 0; !connectionTo(process.env.WORKFLOW_WORLD_URL).sockets.of('Bearer secret'); i++) {
        if (i > 2000) throw new Error('no socket');
        await world.runs.get(${JSON.stringify(runId)});
      }
      await world.runs.get(${JSON.stringify(runId)});
      ${end}
    })();`;
  const before = wire.upgraded;
  for (const end of ['', 'await world.close();', 'setTimeout(() => world.runs.get("").catch(() => {}), 20);']) {
    const outcome = await runChild(script(end), { WORKFLOW_WORLD_URL: wire.url, WORKFLOW_WORLD_TOKEN: 'secret' });
    assert.deepEqual([outcome.code, outcome.stderr], [0, '']);
  }
  assert.equal(wire.upgraded, before + 3);
});

/** A service whose sockets are scripted; its requests are answered with run "by request". */
async function scripted(onMessage: (socket: WebSocket, id: Buffer, calls: unknown[]) => void, options: object = {}) {
  const seen = { requests: 0, tokens: [] as unknown[], closed: [] as number[], sockets: new Set<WebSocket>() };
  const server: Server = createServer((request, response) => {
    seen.requests++;
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ runId: 'by request' }));
  });
  const sockets = new WebSocketServer({ server, path: '/v1/calls' });
  sockets.on('connection', (socket, request) => {
    seen.tokens.push(request.headers.authorization);
    seen.sockets.add(socket);
    socket.on('close', (code) => seen.closed.push(code));
    socket.on('message', (data: Buffer) => {
      const { calls } = decode(data.subarray(4)) as { calls: unknown[] };
      onMessage(socket, data.subarray(0, 4), calls);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const world = createWorld({ url, retryForMs: 0, ...options });
  endings.push(async () => {
    await world.close();
    for (const socket of seen.sockets) socket.terminate();
    await new Promise((resolve) => server.close(resolve));
  });
  return { seen, url, world };
}

const answering = (socket: WebSocket, id: Buffer, calls: unknown[], runId = 'by socket') => {
  const answers = calls.map(() => ({ status: 200, body: encode({ runId }) }));
  socket.send(Buffer.concat([id, Buffer.from([0, 200]), encode({ answers })]));
};

const which = async (world: RedisWorld): Promise<string> => (await world.runs.get('r')).runId;

test('a socket without an answer is a TIMEOUT, and calls are requests for a while afterwards', async () => {
  let silent = false;
  const { seen, world } = await scripted((socket, id, calls) => silent || answering(socket, id, calls), { timeoutMs: 300 });
  while ((await which(world)) !== 'by socket');
  silent = true;
  await assert.rejects(which(world), { name: 'WorkflowWorldError', code: 'TIMEOUT' });
  silent = false;
  for (let i = 0; i < 20; i++) assert.equal(await which(world), 'by request');
  assert.equal(seen.tokens.length, 1);
});

test('an unreadable answer is a 502 of its call, and an answer to no call is ignored', async () => {
  let broken = false;
  const { world } = await scripted((socket, id, calls) => {
    if (!broken) {
      socket.send(Buffer.concat([Buffer.from('none'), Buffer.from([0, 200]), encode({ answers: [] })]));
      return answering(socket, id, calls);
    }
    socket.send(Buffer.concat([id, Buffer.from([0, 200]), Buffer.from([0xff])]));
  });
  while ((await which(world)) !== 'by socket');
  broken = true;
  await assert.rejects(which(world), { name: 'WorkflowWorldError', status: 502 });
  broken = false;
  assert.equal(await which(world), 'by socket');
});

test('a message that is too short for an answer ends its socket but not the process; the call is repeated by a request', async () => {
  for (let size = 0; size < 6; size++) {
    let broken = false;
    const { seen, world } = await scripted((socket, id, calls) => (broken ? socket.send(Buffer.concat([id, Buffer.alloc(2)]).subarray(0, size)) : answering(socket, id, calls)), {
      retryForMs: 10_000,
    });
    while ((await which(world)) !== 'by socket');
    broken = true;
    assert.equal(await which(world), 'by request', `${size} bytes`);
    assert.equal(seen.tokens.length, 1);
  }
});

test('a socket that is being replaced delivers its outstanding answers and is closed; further calls use another one', async () => {
  const held: (() => void)[] = [];
  let hold = false;
  const { seen, world } = await scripted((socket, id, calls) => {
    if (!hold) return answering(socket, id, calls);
    held.push(() => answering(socket, id, calls, 'late'));
    if (held.length === 1) socket.send('retire');
  });
  while ((await which(world)) !== 'by socket');
  hold = true;
  const owed = which(world);
  await until(
    () => held.length === 1,
    () => new Promise(setImmediate),
  );
  assert.deepEqual(seen.closed, []);
  hold = false;
  while ((await which(world)) !== 'by socket' || seen.tokens.length < 2);
  held[0]?.();
  assert.equal(await owed, 'late');
  await until(
    () => seen.closed.length > 0,
    () => which(world),
  );
  assert.deepEqual(seen.closed, [1000]);
});

test('each token has a socket of its own', async () => {
  const { seen, url } = await scripted(answering);
  const worlds = ['one', 'two'].map((token) => createWorld({ url, token }));
  for (const world of worlds) while ((await which(world)) !== 'by socket');
  assert.deepEqual(seen.tokens, ['Bearer one', 'Bearer two']);
});

test('with WORKFLOW_WORLD_SOCKET=off all calls are requests, and a few calls open no socket either', async () => {
  const { seen, url } = await scripted(answering);
  const script = (calls: number) => `(async () => { const world = createWorld(); for (let i = 0; i < ${calls}; i++) await world.runs.get('r'); })();`;
  assert.equal((await runChild(script(50), { WORKFLOW_WORLD_URL: url, WORKFLOW_WORLD_SOCKET: 'off' })).code, 0);
  assert.equal((await runChild(script(8), { WORKFLOW_WORLD_URL: url })).code, 0);
  assert.deepEqual([seen.requests, seen.tokens.length], [58, 0]);
});
