/** The parts of the search for the app's address that read what systems and frameworks write. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, test } from 'node:test';
import { part } from './helpers/client.js';

const { parsePs } = part<typeof import('../build/address/ancestors.js')>('address/ancestors');
const { asBasePath, basePaths } = part<typeof import('../build/address/basePaths.js')>('address/basePaths');
const { threadListeners } = part<typeof import('../build/address/handles.js')>('address/handles');
const { hostOf, originOf } = part<typeof import('../build/address/listener.js')>('address/listener');
const { listenersOf } = part<typeof import('../build/address/listeners.js')>('address/listeners');
const { parseLsof } = part<typeof import('../build/address/lsof.js')>('address/lsof');
const { parseNetstat } = part<typeof import('../build/address/netstat.js')>('address/netstat');
const { parseTable } = part<typeof import('../build/address/proc.js')>('address/proc');
const { probeHealth } = part<typeof import('../build/address/probe.js')>('address/probe');
const { AddressSearch } = part<typeof import('../build/address/search.js')>('address/search');
const { WarningPrinter, warningsIn } = part<typeof import('../build/address/serviceWarnings.js')>('address/serviceWarnings');

const SDK_BASE_PATH = Symbol.for('@workflow/core/basePath');
const globals = globalThis as Record<symbol, unknown>;
const write = process.stderr.write;
afterEach(() => {
  process.stderr.write = write;
  delete globals[SDK_BASE_PATH];
  for (const name of ['PORT', '__NEXT_PRIVATE_STANDALONE_CONFIG', 'NUXT_APP_BASE_URL']) delete process.env[name];
});

test("the system's ways to write an address lead to the URL at which the service reaches it", () => {
  for (const [address, url] of [
    ['*', 'http://localhost:80'],
    ['0.0.0.0', 'http://localhost:80'],
    ['::', 'http://localhost:80'],
    ['127.0.0.1', 'http://localhost:80'],
    ['::ffff:127.0.0.1', 'http://localhost:80'],
    ['::1', 'http://[::1]:80'],
    ['127.0.0.2', 'http://127.0.0.2:80'],
    ['172.17.0.2', 'http://172.17.0.2:80'],
    ['fd00::2', 'http://[fd00::2]:80'],
  ] as const) {
    assert.equal(originOf({ host: hostOf(address), port: 80 }), url, address);
  }
});

test('the tables of Linux: listening sockets by their inodes, in the order of bytes of the machine', () => {
  const table = (...addresses: string[]) =>
    [
      '  sl  local_address',
      ...addresses.map((address, i) => `   ${i}: ${address} 00000000:0000 ${i === 3 ? '01' : '0A'} 00000000:00000000 00:00000000 00000000     0        0 ${i} 1`),
    ].join('\n');
  assert.deepEqual(parseTable(table('00000000:0BB8', '0100007F:1F90', '020011AC:0050', '0100007F:0051'), 'LE'), [
    ['0', { host: undefined, port: 3000 }],
    ['1', { host: '127.0.0.1', port: 8080 }],
    ['2', { host: '172.17.0.2', port: 80 }],
  ]);
  assert.deepEqual(
    parseTable(
      table(
        '00000000000000000000000000000000:0BB8',
        '00000000000000000000000001000000:1435',
        '0000000000000000FFFF00000100007F:0050',
        '00000000000000000000000001000000:0051',
        '000000FD000000000000000002000000:0052',
      ),
      'LE',
    ),
    [
      ['0', { host: undefined, port: 3000 }],
      ['1', { host: '::1', port: 5173 }],
      ['2', { host: '127.0.0.1', port: 80 }],
      ['4', { host: 'fd00::2', port: 82 }],
    ],
  );
  assert.deepEqual(parseTable(table('7F000001:1F90'), 'BE'), [['0', { host: '127.0.0.1', port: 8080 }]]);
});

test('what lsof writes', () => {
  assert.deepEqual(parseLsof('p100\nf21\nn*:3000\nf22\nn[::1]:5173\np7\nf3\nn127.0.0.1:9229\n'), [
    { host: undefined, port: 3000, pid: 100 },
    { host: '::1', port: 5173, pid: 100 },
    { host: '127.0.0.1', port: 9229, pid: 7 },
  ]);
  assert.deepEqual(parseLsof(''), []);
});

test('what netstat writes on Windows, in any language', () => {
  const output = [
    'Aktive Verbindungen',
    '  Proto  Lokale Adresse         Remoteadresse          Status           PID',
    '  TCP    0.0.0.0:3000           0.0.0.0:0              ABHÖREN          100',
    '  TCP    [::1]:5173             [::]:0                 ABHÖREN          100',
    '  TCP    [fe80::1%4]:5174       [::]:0                 ABHÖREN          100',
    '  TCP    127.0.0.1:3000         127.0.0.1:50123        HERGESTELLT      100',
    '  TCP    0.0.0.0:135            0.0.0.0:0              ABHÖREN          1000',
    '  UDP    0.0.0.0:5353           *:*                                     100',
  ].join('\r\n');
  assert.deepEqual(parseNetstat(output, [100]), [
    { host: undefined, port: 3000, pid: 100 },
    { host: '::1', port: 5173, pid: 100 },
    { host: 'fe80::1', port: 5174, pid: 100 },
  ]);
});

test('the processes above one that run JavaScript, from what ps writes', () => {
  const output = [
    '    1     0 /sbin/launchd',
    '  200     1 /usr/local/bin/node',
    '  201   200 /bin/zsh',
    '  202   201 npm run dev',
    '  203   201 /opt/homebrew/bin/bun',
    '  204   203 node',
  ].join('\n');
  assert.deepEqual(parsePs(output, 203), [203, 200]);
  assert.deepEqual(parsePs(output, 999), []);
  assert.deepEqual(parsePs('7 7 node', 7), Array(8).fill(7), 'the climb has an end');
});

test('base paths: of the SDK, of the frameworks, and none', () => {
  assert.deepEqual(basePaths(), ['']);
  process.env['NUXT_APP_BASE_URL'] = '/';
  process.env['__NEXT_PRIVATE_STANDALONE_CONFIG'] = 'not JSON';
  globals[SDK_BASE_PATH] = '';
  assert.deepEqual(basePaths(), ['']);
  process.env['NUXT_APP_BASE_URL'] = '/nuxt/';
  process.env['__NEXT_PRIVATE_STANDALONE_CONFIG'] = '{"basePath":"/next"}';
  globals[SDK_BASE_PATH] = '/sdk';
  assert.deepEqual(basePaths(), ['/sdk', '/next', '/nuxt', '']);
  assert.equal(asBasePath('/a/b//'), '/a/b');
  for (const value of ['//evil.example/', 'https://evil.example/', 'relative', '/', '', '/?q', 7, null]) assert.equal(asBasePath(value), undefined, String(value));
});

test('Node and the system agree on the ports of this process', async () => {
  // More than Linux lists in one read of its tables.
  const servers = Array.from({ length: 60 }, (_, i) => createServer().listen(0, ...(i === 0 ? [] : ['127.0.0.1'])));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  try {
    const expected = servers.map((server, i) => ({ host: i === 0 ? undefined : '127.0.0.1', port: (server.address() as AddressInfo).port, pid: process.pid }));
    const byPort = (a: { port: number }, b: { port: number }) => a.port - b.port;
    expected.sort(byPort);
    assert.deepEqual(threadListeners().sort(byPort), expected);
    assert.deepEqual((await listenersOf([process.pid]))?.sort(byPort), expected);
  } finally {
    for (const server of servers) server.close();
  }
});

/** A search that has no patience; it ends with the first thing that it finds out. */
function impatient(): Promise<['found', string] | ['missing', string, string | undefined]> {
  return new Promise((resolve) => {
    const search = new AddressSearch(
      'no process has this id',
      {
        found: (url) => resolve(['found', url]),
        missing: (...what) => {
          search.stop();
          resolve(['missing', ...what]);
        },
      },
      { patience: 0, better: 0, pause: () => 5 },
    );
    void search.start();
  });
}

test("a refusal by this client's handler confirms an address: early SDKs do not know the request", async (t) => {
  const marked = createServer((_request, response) => response.writeHead(400, { 'x-world-redis-client': '1' }).end('{}')).listen(0, '127.0.0.1');
  const other = createServer((_request, response) => response.writeHead(400).end('{}')).listen(0, '127.0.0.1');
  t.after(() => [marked, other].map((server) => server.close()));
  const at = (server: typeof marked) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await Promise.all([marked, other].map((server) => once(server, 'listening')));
  assert.deepEqual(await probeHealth(at(marked)), { ok: true });
  assert.equal((await probeHealth(at(other))).ok, false);
});

test('a process that does not listen: PORT is assumed if it is set; 3000 is not, where another app may listen', async () => {
  assert.deepEqual(await impatient(), ['missing', 'this process does not listen on any port', undefined]);
  process.env['PORT'] = '1';
  globals[SDK_BASE_PATH] = '/v2';
  assert.deepEqual(await impatient(), ['missing', 'this process does not listen on any port', 'http://localhost:1/v2']);
  process.env['PORT'] = '0';
  assert.deepEqual(await impatient(), ['missing', 'this process does not listen on any port', undefined]);
});

test('a process whose port has no workflow routes: what was tried, and its answer', async () => {
  const server = createServer((_request, response) => response.writeHead(404).end()).listen(0);
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const tried = `POST http://localhost:${port}/.well-known/workflow/v1/flow?__health: 404`;
    assert.deepEqual(await impatient(), ['missing', `the workflow routes of this app do not answer where it listens (${tried})`, undefined]);
  } finally {
    server.close();
  }
});

test('warnings of the service are written once, again only after they had gone, and a line when all have', () => {
  const lines: string[] = [];
  process.stderr.write = ((text: string) => lines.push(text) > 0) as typeof process.stderr.write;
  const printer = new WarningPrinter();
  const printed = (...warnings: unknown[]) => {
    printer.print('http://app', warningsIn({ warnings }));
    return lines.splice(0);
  };
  const gone = { code: 'no_answer', message: 'nobody\nanswers\u001b[2J' };
  const other = { code: 'other_app', message: 'another app answers' };
  assert.deepEqual(printed(), []);
  assert.deepEqual(printed(gone), ['[world-redis] WARNING: nobody answers [2J\n']);
  assert.deepEqual(printed(gone, other), ['[world-redis] WARNING: another app answers\n']);
  assert.deepEqual(printed(other), []);
  assert.deepEqual(printed(gone, other), ['[world-redis] WARNING: nobody answers [2J\n']);
  assert.deepEqual(printed(), ['[world-redis] http://app is reached by the service\n']);
  assert.deepEqual(printed(), []);
});

test('a nonsensical list of warnings is none, and a long one is cut', () => {
  for (const answer of [undefined, null, {}, { warnings: 'no' }, { warnings: [null, 7, {}, { code: 'x' }, { code: 1, message: 2 }] }]) assert.deepEqual(warningsIn(answer), []);
  const warnings = Array.from({ length: 9 }, (_, i) => ({ code: `c${i}`, message: 'm'.repeat(9_000) }));
  assert.deepEqual(
    warningsIn({ warnings }).map(({ message }) => message.length),
    [500, 500, 500, 500, 500],
  );
});
