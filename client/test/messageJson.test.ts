/** The service sends the messages of SDK v4 as JSON to apps that accept only that: nothing is lost, and a framework that parses the text and prints it again changes no byte, so that the signature still fits. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { clientEntry, createWorld, part } from './helpers/client.js';

const { decode, decodeJson } = part<typeof import('../build/wire/encoding.js')>('wire/encoding');

// The service's own test compares the texts with what it writes (internal/wire/message_json_test.go).
const folder = join(clientEntry, '../../../internal/wire/testdata');
const messages: { what: string; cbor: string; json: string }[] = JSON.parse(readFileSync(join(folder, 'message_json.json'), 'utf8'));
assert.ok(messages.length > 20);

/** SDK v4 accepts the date of a message as text, and an absent member like undefined. */
function asParsed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries.map(([key, member]) => [key, member instanceof Date && member.getUTCFullYear() < 10_000 ? member.toISOString() : member]));
}

for (const { what, cbor, json } of messages) {
  test(`a message is the same in CBOR and in JSON: ${what}`, () => {
    const value = decode(Buffer.from(cbor, 'hex'));
    const expected = what === 'a date that is the message' ? value : asParsed(value);
    const got = decodeJson(json);
    assert.deepStrictEqual(Array.isArray(got) ? Array.from(got) : got, expected); // undefined in a list is a hole in it
    assert.equal(JSON.stringify(JSON.parse(json)), json);
  });
}

test('what only looks like CBOR in JSON stays as it is', () => {
  const others = { a: { __type: 'CBOR', data: '/w==' }, b: { __type: 'CBOR', data: '9w==', more: 1 }, c: { __type: 'CBOR' } };
  assert.deepEqual(decodeJson(JSON.stringify(others)), others);
});

test('the handler gets the message of a delivery in JSON', async () => {
  let received: unknown;
  const handle = createWorld().createQueueHandler('__wkf_workflow_', async (message) => {
    received = message;
  });
  const headers = { 'content-type': 'application/json', 'x-vqs-queue-name': '__wkf_workflow_w', 'x-vqs-message-id': 'msg_1', 'x-vqs-message-attempt': '1' };
  const start = messages.find(({ what }) => what === 'a start');
  const answer = await handle(new Request('http://app/flow', { method: 'POST', headers, body: start?.json as string }));
  assert.equal(answer.status, 200);
  assert.deepEqual(received, decode(Buffer.from(start?.cbor as string, 'hex')));
});
