// @ts-check
// Apps of SDK v4 in a framework that has a parser for JSON only, as Fastify and Nest on it: the first message is
// refused with 415 and sent again as JSON, and all further ones are JSON, after a restart of the service, too. The
// framework parses the body and prints it again, and the signature still fits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startStack } from './lib/stack.mjs';

test('an app that knows only JSON runs workflows without a parser for CBOR, with a token', async (t) => {
  const { app, service } = await startStack(t, { sdk: 'v4', redis: 'server', token: 'json-only-token', appEnv: { E2E_JSON_ONLY: '1' } });
  const runs = async () => {
    const streamed = await app.begin('streamer', 4, 10);
    assert.deepEqual(await app.outcome(await app.begin('par', 3)), { status: 'completed', value: 6 });
    assert.equal((await app.outcome(streamed)).status, 'completed');
  };
  await runs();
  const { refused } = await app.deliveries();
  assert.ok(refused >= 1, 'the first message travels as CBOR');
  await runs();
  assert.equal((await app.deliveries()).refused, refused, 'afterwards all are JSON');
  await service.stop();
  await service.start();
  await runs();
  assert.equal((await app.deliveries()).refused, refused, 'the registration in Redis remembers it');

  // Another process under the same registration is asked again.
  await app.stop();
  await app.start();
  await runs();
  assert.ok((await app.deliveries()).refused >= 1, 'a new registration starts with CBOR');
});
