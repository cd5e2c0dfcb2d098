// @ts-check
// Feeds the client's decoders with made-up input, and ends with code 1 at the first that throws what it must not, is not
// settled, or takes too long. What it made can be made again with the seed.
//   node fuzz.mjs [--time 60s] [--seed N] [--only TARGET]
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { isDeepStrictEqual, parseArgs } from 'node:util';

const load = createRequire(import.meta.url);
const { decode, decodeEnvelope, decodeJson, encode } = load('../build/wire/encoding.js');
const { decodeBody } = load('../build/transport/call.js');
const { FrameDecoder } = load('../build/wire/frames.js');
const { splitBody } = load('../build/delivery/preload.js');
const { Bundles } = load('../build/transport/bundles.js');
const { Line } = load('../build/transport/callSocket.js');
const { reviveEntity, reviveEvent } = load('../build/wire/timestamps.js');
const { errorFromWire } = load('../build/wire/wireError.js');
const { createWorld } = load('../build/index.js');

/** So much processor time an input of a few KB may take; the machine may have other things to do meanwhile. */
const SLOW_MS = 2_000;
const LONGEST = 4096;

const { values: options } = parseArgs({ options: { time: { type: 'string', default: '60s' }, seed: { type: 'string' }, only: { type: 'string' } } });
const seed = options.seed === undefined ? (Date.now() & 0x7fffffff) >>> 0 : Number(options.seed);

// mulberry32
let state = seed >>> 0;
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
const below = (n) => Math.floor(random() * n);
const oneOf = (list) => list[below(list.length)];
const bytes = (n) => Uint8Array.from({ length: n }, () => below(256));

const TAGS = [
  0, 1, 2, 3, 4, 5, 6, 14, 15, 25, 27, 28, 29, 32, 51, 64, 65, 66, 69, 70, 71, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 105, 216, 225, 256, 258, 259, 27647, 28704, 55799,
  0xdff9, 0xdffe, 0xdfff, 0xe000, 0x53687264,
];
const WORDS = [
  'data',
  'runId',
  'event',
  'events',
  'eventData',
  'createdAt',
  'retryAfter',
  'answers',
  'status',
  'body',
  'then',
  'error',
  'name',
  'message',
  'hasMore',
  'cursor',
  '__type',
  '__proto__',
  'constructor',
  'RegExp',
  'Error',
  'ü',
  '',
];

function head(major, n) {
  const info = oneOf([0, 0, 0, 1, 2, 3, 4]);
  if (info === 0 && n < 24) return [(major << 5) | n];
  const size = n > 0xffff ? 4 : n > 0xff ? Math.max(2, (1 << info) >> 1) : 1 << Math.max(0, info - 1);
  const out = [(major << 5) | (size === 1 ? 24 : size === 2 ? 25 : size <= 4 ? 26 : 27)];
  const width = size === 1 ? 1 : size === 2 ? 2 : size <= 4 ? 4 : 8;
  for (let i = width - 1; i >= 0; i--) out.push(i > 3 ? 0 : (n >>> (8 * i)) & 255);
  return out;
}

/** A well-formed item. */
function item(out, depth) {
  const kind = depth > 6 ? below(6) : below(12);
  if (kind < 2) out.push(...head(kind, oneOf([0, 1, 23, 24, 255, 65536, 0xffffffff, below(1000)])));
  else if (kind === 2) {
    const content = bytes(oneOf([0, 1, 2, 3, 4, 8, 16, below(100)]));
    if (random() < 0.1) out.push(0x5f, ...head(2, content.length), ...content, 0xff);
    else out.push(...head(2, content.length), ...content);
  } else if (kind === 3) {
    const text = new TextEncoder().encode(oneOf(WORDS));
    out.push(...head(3, text.length), ...text);
  } else if (kind === 4) out.push(oneOf([0xf4, 0xf5, 0xf6, 0xf7, 0xe0, 0xef]));
  else if (kind === 5)
    out.push(
      ...oneOf([
        [0xf9, ...bytes(2)],
        [0xfa, ...bytes(4)],
        [0xfb, ...bytes(8)],
        [0xf8, 32 + below(224)],
      ]),
    );
  else if (kind < 8) list(out, 4, below(5), depth);
  else if (kind < 10) list(out, 5, below(5), depth);
  else {
    out.push(...head(6, oneOf(TAGS)));
    item(out, depth + 1);
  }
}

function list(out, major, n, depth) {
  const open = random() < 0.2;
  out.push(...(open ? [(major << 5) | 31] : head(major, n)));
  for (let i = 0; i < (major === 5 ? 2 * n : n); i++) {
    if (major === 5 && i % 2 === 0 && random() < 0.8) {
      const key = new TextEncoder().encode(oneOf(WORDS));
      out.push(...head(3, key.length), ...key);
    } else item(out, depth + 1);
  }
  if (open) out.push(0xff);
}

function wellFormed() {
  const out = [];
  if (random() < 0.02) for (let i = below(12_000); i > 0; i--) out.push(...oneOf([[0x81], [0xc1], [0xd8, 0x1c], [0xa1, 0x61, 0x61], [0xd9, 1, 2, 0x81]]));
  item(out, 0);
  return Uint8Array.from(out.slice(0, 4 * LONGEST));
}

/** The same with bytes changed, left out, doubled. */
function broken(from) {
  let out = [...from];
  for (let i = below(4); i >= 0; i--) {
    const at = below(out.length + 1);
    const change = below(6);
    if (change === 0) out[at] = below(256);
    else if (change === 1) out.splice(at, below(8));
    else if (change === 2) out.splice(at, 0, ...bytes(below(8)));
    else if (change === 3) out.splice(at, 0, ...out.slice(below(out.length), below(out.length)));
    else if (change === 4) out[at] = (out[at] ?? 0) ^ (1 << below(8));
    else out = out.slice(0, at);
    if (out.length > LONGEST) out.length = LONGEST;
  }
  return Uint8Array.from(out);
}

const input = () => (random() < 0.5 ? wellFormed() : random() < 0.9 ? broken(wellFormed()) : bytes(below(64)));

function must(condition, what) {
  if (!condition) throw new Error(what);
}

/** The value of what is an item; `undefined` in a list of none, if it is not. */
function decoded(data) {
  try {
    return [decode(data)];
  } catch (error) {
    must(error.constructor === Error && error.message.startsWith('not well-formed CBOR'), `decode throws ${error}`);
    return undefined;
  }
}

const VALUES = [{ a: [1, 'text', null, true, { b: new Uint8Array(3) }] }, [new Date(0), 1.5, -1e9, 2 ** 40], { createdAt: 5, eventData: { retryAfter: 6 } }];

const targets = {
  reader(data) {
    const value = decoded(data);
    const envelope = (() => {
      try {
        return [decodeEnvelope(data)];
      } catch {
        return undefined;
      }
    })();
    must(isDeepStrictEqual(value, envelope), 'views and copies differ');
    if (!value) return;
    // It hides nothing beside it, whatever it is.
    const beside = oneOf(VALUES);
    const [first, second] = decode(Buffer.concat([Uint8Array.of(0x82), data, encode(beside)]));
    must(isDeepStrictEqual(second, beside), 'it changes what is beside it');
    must(typeof first === typeof value[0], 'it is another thing in a list');
    reviveEntity(value[0]);
    reviveEvent(value[0]);
    errorFromWire(value[0] ?? undefined, { status: 500, url: 'http://x', retryAfter: undefined });
  },
  'what the client writes'(data) {
    const value = decoded(data);
    if (value) decode(encode(value[0]));
  },
  frames(data) {
    const whole = new FrameDecoder();
    const expected = whole.push(data);
    const parted = new FrameDecoder();
    const got = [];
    for (let at = 0; at < data.length; ) {
      const next = at + 1 + below(9);
      got.push(...parted.push(data.subarray(at, next)));
      at = next;
    }
    must(isDeepStrictEqual(got, expected) && whole.ended === parted.ended, 'pieces give other chunks');
  },
  bodies(data) {
    for (const type of ['application/cbor', 'application/json; charset=utf-8', 'text/html', '']) decodeBody(data, type);
    const text = JSON.stringify({ a: [oneOf(WORDS), { __type: 'Uint8Array', data: Buffer.from(data).toString('base64') }] });
    must(isDeepStrictEqual(decodeJson(text).a[1], data), 'bytes in JSON');
    const cut = Buffer.from(text);
    cut[below(cut.length)] = below(256);
    decodeBody(cut, 'application/json');
    const parts = splitBody(new Headers({ 'x-world-redis-attached': String(below(2 * data.length + 2)) }), data);
    must(parts === undefined || parts.message.length + (parts.preload?.length ?? 0) === data.length, 'a delivery in parts');
  },
  async bundles(data) {
    const calls = 1 + below(3);
    const whole =
      random() < 0.3
        ? data
        : encode({
            answers: Array.from({ length: calls }, () =>
              oneOf([
                { status: 200, body: data },
                { status: oneOf([0, 200, 503, 'x']), body: data, retryAfter: oneOf(['1', 1, null]), then: oneOf([null, 1, { status: 200, body: data }]) },
                decoded(data)?.[0] ?? null,
              ]),
            ),
          });
    const exchange = { request: async () => ({ status: 200, headers: {}, body: whole }) };
    const bundles = new Bundles(exchange, { of: () => exchange, isOpen: () => true }, '');
    const call = () => bundles.request({ method: 'POST', path: '/v1/queue', headers: { 'content-type': 'application/cbor' }, body: data, timeoutMs: 1000, signal: undefined });
    for (const answer of await Promise.all(Array.from({ length: calls }, call))) {
      must(Number.isInteger(answer.status) && answer.body instanceof Uint8Array, 'an answer that is none');
      decodeBody(answer.body, answer.headers['content-type'] ?? '');
    }
  },
  async sockets(data) {
    const under = { ref() {}, unref() {} };
    const socket = Object.assign(new EventEmitter(), { OPEN: 1, CLOSED: 3, readyState: 1, send() {}, close() {}, terminate() {} });
    const line = new Line(socket, under, () => undefined);
    const asked = [line.request(data, 60_000), line.request(data, 60_000)].map((one) =>
      one.then(
        (answer) => decodeBody(answer.body, 'application/cbor'),
        () => undefined,
      ),
    );
    const named = Buffer.concat([Uint8Array.of(0, 0, 0, below(4), 0, 200), data]);
    for (const message of [Buffer.from(data), named, named.subarray(0, below(8))]) socket.emit('message', message, random() < 0.9);
    socket.emit('close');
    await Promise.all(asked);
  },
  async deliveries(data) {
    const handle = createWorld({ url: 'http://127.0.0.1:1' }).createQueueHandler('__wkf_workflow_', async () => undefined);
    const headers = {
      'content-type': oneOf(['application/cbor', 'application/json', '']),
      'x-vqs-queue-name': '__wkf_workflow_w',
      'x-vqs-message-id': `msg_${below(1e9)}`,
      'x-vqs-message-attempt': '1',
    };
    const { status } = await handle(new Request('http://app/flow', { method: 'POST', headers, body: data }));
    must(status === 200 || status === 400, `a delivery is answered ${status}`);
  },
};

let current = { target: '', data: new Uint8Array() };
function failed(error) {
  console.error(
    `\n${current.target}: ${error?.stack ?? error}\ninput (${current.data.length} bytes): ${Buffer.from(current.data).toString('hex')}\nseed ${seed}, input number ${count + 1}`,
  );
  process.exit(1);
}
process.on('uncaughtException', failed);
process.on('unhandledRejection', failed);

const until = Date.now() + milliseconds(options.time);
const chosen = Object.entries(targets).filter(([name]) => options.only === undefined || name === options.only);
if (chosen.length === 0) throw new Error(`no target ${options.only}; there are ${Object.keys(targets).join(', ')}`);
let count = 0;
let slowest = 0;
// Most of the inputs are for the decoder itself; the others have it, too, in more around it.
for (let shown = Date.now(); Date.now() < until; ) {
  for (const [target, run] of chosen) {
    for (let i = target === 'reader' ? 20 : target === 'deliveries' ? 1 : 5; i > 0; i--) {
      current = { target, data: input() };
      const before = process.cpuUsage();
      try {
        await run(current.data);
      } catch (error) {
        failed(error);
      }
      const { user, system } = process.cpuUsage(before);
      slowest = Math.max(slowest, (user + system) / 1000);
      if ((user + system) / 1000 > SLOW_MS) failed(`it took ${(user + system) / 1000} ms`);
      count++;
    }
  }
  if (Date.now() - shown > 3000) {
    shown = Date.now();
    console.log(`client: ${count} inputs`);
  }
}
// The last line is what scripts/fuzz.sh adds up.
console.log(`client: seed ${seed}, slowest ${slowest.toFixed(1)} ms, execs: ${count}`);
process.exit(0);

function milliseconds(text) {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  if (!found) throw new Error(`--time ${text} is not a time such as 30s`);
  return Number(found[1]) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[found[2]];
}
