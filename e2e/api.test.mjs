// @ts-check
// Invalid and hostile requests: each gets a clear answer, and the service continues.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startStack } from './lib/stack.mjs';

const token = 'correct horse battery staple';

test('bad requests', async (t) => {
  const { api, app } = await startStack(t, { redis: 'embedded', token });
  const runId = await app.begin('addition', 1, 2);
  await app.outcome(runId);

  const refused = async (name, status, code, path, options) => {
    await t.test(name, async () => {
      const answer = await api.request(path, options);
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.body?.error?.status, status, answer.text);
      assert.equal(answer.body.error.code, code, answer.text);
      assert.ok(answer.body.error.message.length > 0);
      assert.doesNotMatch(answer.text, /goroutine|\.go:|redis:|dial tcp/, 'nothing of the inside gets out');
      if (options?.errorName) assert.equal(answer.body.error.name, options.errorName);
    });
  };
  const post = (body, more) => ({ method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), ...more });
  const unknown = 'wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV';

  await refused('no token', 401, 'unauthorized', `/v1/runs/${runId}`, { token: '' });
  await refused('a wrong token', 401, 'unauthorized', `/v1/runs/${runId}`, { token: `${token}!` });
  await refused('an unknown run', 404, 'run_not_found', `/v1/runs/${unknown}`, { errorName: 'WorkflowRunNotFoundError' });
  await refused('an unknown step', 404, 'step_not_found', `/v1/runs/${runId}/steps/step_none`, { errorName: 'WorkflowWorldError' });
  await refused('an unknown hook', 404, 'hook_not_found', '/v1/hooks/hook_none', { errorName: 'HookNotFoundError' });
  await refused('an unknown route', 404, 'not_found', '/v1/nothing');
  await refused('a cursor that was never handed out', 400, 'invalid', '/v1/runs?cursor=%00%ff%fe');
  await refused('another one', 400, 'invalid', `/v1/runs/${runId}/events?cursor=nonsense`);
  await refused('a limit below one', 400, 'invalid', '/v1/runs?limit=-5');
  await refused('a limit that is no number', 400, 'invalid', '/v1/runs?limit=many');
  await refused('an order that is none', 400, 'invalid', '/v1/runs?sortOrder=sideways');
  await refused('a body that is not JSON', 400, 'invalid', `/v1/runs/${runId}/events`, post('{"event":'));
  await refused('an empty body', 400, 'invalid', `/v1/runs/${runId}/events`, post(''));
  await refused('a body that is not CBOR', 400, 'invalid', `/v1/runs/${runId}/events`, {
    ...post('\xff\xff\xff'),
    headers: { 'content-type': 'application/cbor' },
  });
  await refused('a content type that nobody asked for', 415, 'unsupported_media_type', `/v1/runs/${runId}/events`, {
    ...post('event=1'),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  await refused('an event type that does not exist', 400, 'invalid', `/v1/runs/${runId}/events`, post({ event: { eventType: 'run_exploded' } }));
  await refused('an event that only the World writes', 400, 'invalid', `/v1/runs/${runId}/events`, post({ event: { eventType: 'hook_conflict' } }));
  await refused('an event for a run that does not exist', 404, 'run_not_found', `/v1/runs/${unknown}/events`, post({ event: { eventType: 'run_cancelled', specVersion: 3 } }));
  await refused('a queue that is neither flow nor step', 400, 'invalid', '/v1/queue', post({ queueName: 'mail', message: {} }));
  for (const path of ['/v1/runs/..%2f..%2fetc%2fpasswd', '/v1/runs/a%00b', '/v1/runs/%7Bx%7D', `/v1/runs/${'x'.repeat(300)}`]) {
    await refused(`a run id that is none: ${path.slice(0, 40)}`, 400, 'invalid', path);
  }

  await t.test('a write to a run that has ended', async () => {
    const answer = await api.request(`/v1/runs/${runId}/events`, post({ event: { eventType: 'run_started', specVersion: 3 } }));
    assert.ok([409, 410].includes(answer.status), answer.text);
    assert.ok(['EntityConflictError', 'RunExpiredError'].includes(answer.body.error.name), answer.text);
  });

  for (const odd of ['a/b/../c', 'white space', '🦊/💥?x=1#y', '%2e%2e', '{braces}', 'ü'.repeat(500)]) {
    await t.test(`a hook token that is odd text: ${odd.slice(0, 20)}`, async () => {
      const before = await api.request(`/v1/hooks/by-token?token=${encodeURIComponent(odd)}`);
      assert.equal(before.status, 404);
      assert.equal(before.body.error.name, 'HookNotFoundError');
      const run = await app.begin('hookwf', odd);
      let hook;
      do hook = await api.request(`/v1/hooks/by-token?token=${encodeURIComponent(odd)}`);
      while (hook.status === 404);
      assert.equal(hook.body.token, odd);
      await app.resume(odd, 'ok');
      assert.deepEqual(await app.outcome(run), { status: 'completed', value: 'ok' });
    });
  }

  await t.test('a body of 100 MB is refused, whether its length is announced or not', async () => {
    const size = 100 * 1024 * 1024;
    for (const announced of [true, false]) {
      const status = await sendBig(api.url, `/v1/runs/${runId}/events`, size, announced);
      assert.equal(status, 413);
    }
  });

  await t.test('the service continues', async () => {
    assert.deepEqual(await app.outcome(await app.begin('addition', 2, 3)), { status: 'completed', value: 5 });
  });
});

/**
 * Sends a huge body by hand and returns the status of the answer. The server may answer and close the connection
 * early, which fetch() would report as a broken connection.
 */
async function sendBig(base, path, size, announced) {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  let answer = '';
  socket.setEncoding('latin1').on('data', (text) => (answer += text));
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n` +
      (announced ? `content-length: ${size}\r\n\r\n` : 'transfer-encoding: chunked\r\n\r\n'),
  );
  const block = Buffer.alloc(1024 * 1024, ' ');
  const piece = announced ? block : Buffer.concat([Buffer.from('100000\r\n'), block, Buffer.from('\r\n')]);
  for (let sent = 0; sent < size && !answer && socket.writable; sent += block.length) {
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), once(socket, 'close'), once(socket, 'data')]).catch(() => {});
  }
  if (!announced && socket.writable && !answer) socket.write('0\r\n\r\n');
  if (!answer) await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  socket.destroy();
  return Number(answer.match(/^HTTP\/1\.1 (\d{3})/)?.[1]);
}
