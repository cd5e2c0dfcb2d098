// @ts-check
// nginx and Caddy with the files of deploy/proxies, whose names, ports and certificates are replaced by a test's.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child, freePort, run } from '../lib/process.mjs';
import { until } from '../lib/wait.mjs';

const source = (name) => readFile(fileURLToPath(new URL(`../../deploy/proxies/${name}`, import.meta.url)), 'utf8');

/** Replaces each text, which must be there. */
function replaced(text, pairs) {
  for (const [from, to] of pairs) {
    if (!text.includes(from)) throw new Error(`the file has no ${JSON.stringify(from)}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

const kinds = {
  async nginx({ folder, service, app, ports, certificate, key }) {
    const site = replaced(await source('nginx.conf'), [
      ['listen 443 ssl;\n  server_name world.example;', `listen 127.0.0.1:${ports.service} ssl;\n  server_name localhost;`],
      ['listen 443 ssl;\n  server_name app.example;', `listen 127.0.0.1:${ports.app} ssl;\n  server_name localhost;`],
      ['server 127.0.0.1:8787;', `server 127.0.0.1:${service};`],
      ['server 127.0.0.1:3000;', `server 127.0.0.1:${app};`],
      ['/etc/nginx/tls/world.example.crt', certificate],
      ['/etc/nginx/tls/world.example.key', key],
      ['/etc/nginx/tls/app.example.crt', certificate],
      ['/etc/nginx/tls/app.example.key', key],
    ]);
    const file = join(folder, 'nginx.conf');
    const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${join(folder, name)};`);
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    await writeFile(
      file,
      `daemon off; ${user} pid ${join(folder, 'pid')}; error_log stderr warn;\nevents {}\nhttp {\naccess_log ${join(folder, 'access.log')};\n${temp.join('\n')}\n${site}}\n`,
    );
    return new Child('nginx', 'nginx', ['-c', file, '-p', folder, '-e', 'stderr'], {});
  },

  async caddy({ folder, service, app, ports, certificate, key }) {
    const shared = `\ttls ${certificate} ${key}\n\tlog {\n\t\toutput file ${join(folder, 'access.log')}\n\t}`;
    const sites = replaced(await source('Caddyfile'), [
      ['\nworld.example {', `\nhttps://localhost:${ports.service}, https://world.example:${ports.service} {\n${shared}`],
      ['\napp.example {', `\nhttps://localhost:${ports.app} {\n${shared}`],
      ['127.0.0.1:8787', `127.0.0.1:${service}`],
      ['127.0.0.1:3000', `127.0.0.1:${app}`],
    ]);
    const file = join(folder, 'Caddyfile');
    await writeFile(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${sites}`);
    return new Child('caddy', 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { env: { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder } });
  },
};

/**
 * Starts a proxy in front of the ports `service` and `app` of this machine; it ends with the test `t`. `urls` are the
 * addresses of both behind it, `ca` the file with the certificate that both have.
 *
 * @param {import('node:test').TestContext} t
 * @param {'nginx' | 'caddy'} kind
 * @param {{ service: number, app: number }} ports
 */
export async function startProxy(t, kind, { service, app }) {
  const folder = await mkdtemp(join(tmpdir(), 'world-redis-proxy-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const certificate = join(folder, 'localhost.crt');
  const key = join(folder, 'localhost.key');
  const made = await run('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,DNS:world.example'],
    ...['-keyout', key, '-out', certificate],
  ]);
  if (made.code !== 0) throw new Error(made.tail);
  const ports = { service: await freePort(), app: await freePort() };
  const child = await kinds[kind]({ folder, service, app, ports, certificate, key });
  t.after(async () => {
    const code = await child.end('SIGTERM');
    if (code !== 0) throw new Error(`${kind} ended with ${code}:\n${child.tail}`);
  });
  const proxy = {
    urls: { service: `https://localhost:${ports.service}`, app: `https://localhost:${ports.app}` },
    ca: certificate,
    child,
    /** What was asked of it and has been answered. */
    log: () => readFile(join(folder, 'access.log'), 'utf8'),
  };
  await until(`${kind} to listen`, async () => (await ask(proxy, `${proxy.urls.service}/healthz`)).status > 0, { child });
  return proxy;
}

/**
 * One request through the proxy: status, headers and body. With the header Upgrade the answer is that of the handshake.
 * `name` is the one by which the caller addresses the proxy.
 *
 * @param {{ ca: string }} proxy
 * @param {string} url
 * @param {{ method?: string, headers?: Record<string, string>, body?: string | Buffer, name?: string }} [options]
 * @returns {Promise<{ status: number, headers: import('node:http').IncomingHttpHeaders, text: string }>}
 */
export async function ask(proxy, url, { method = 'GET', headers = {}, body, name = 'localhost' } = {}) {
  const ca = await readFile(proxy.ca);
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method, ca, agent: false, servername: name, headers: { host: name, ...headers }, timeout: 60_000 });
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error(`no answer: ${url}`)));
    sent.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: '' });
    });
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('error', reject);
      response.on('data', (part) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.end(body);
  });
}
