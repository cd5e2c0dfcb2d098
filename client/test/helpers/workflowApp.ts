/** An app in a process of its own, for tests of the address at which it is found: it says nothing of it to anyone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { clientEntry } from './client.js';

/**
 * What scripts have at hand: `serve(options)` is a server that answers as the SDK's flow route does, below `base`,
 * and with 404 to all else; `other()` is one that is no workflow app.
 */
export const PRELUDE = `
  const { createServer, request } = require('node:http');
  const net = require('node:net');
  const { createWorld } = require(${JSON.stringify(clientEntry)});
  const world = createWorld();
  const handler = world.createQueueHandler('__wkf_workflow_', async () => undefined);
  const listening = (server, port = 0, host) => new Promise((resolve) => server.listen(port, host, () => resolve(server.address().port)));
  const answer = (req, res, base) => {
    const url = new URL(req.url, 'http://x');
    if (url.pathname !== base + '/.well-known/workflow/v1/flow') return false;
    if (url.searchParams.has('__health')) res.setHeader('content-type', 'application/json').end('{"healthy":true}');
    else handler(new Request(url, { method: req.method, headers: req.headers })).then(async (response) => {
      for (const [name, value] of response.headers) res.setHeader(name, value);
      res.writeHead(response.status).end(await response.text());
    });
    return true;
  };
  const serve = ({ base = '', root = (res) => res.writeHead(404).end(), port, host } = {}) =>
    listening(createServer((req, res) => { if (!answer(req, res, base)) root(res); }), port, host);
  const other = () => listening(createServer((req, res) => res.writeHead(404).end('{"healthy":true}')));
  const passOn = (target) => listening(createServer((req, res) => {
    const onward = request({ ...target, method: req.method, path: req.url, headers: req.headers }, (answer) => { res.writeHead(answer.statusCode, answer.headers); answer.pipe(res); });
    onward.on('error', () => res.writeHead(502).end());
    req.pipe(onward);
  }));
  const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
`;

export class WorkflowApp {
  stderr = '';
  readonly #child: ChildProcess;
  readonly #lines: unknown[] = [];
  readonly #waiting: ((line: unknown) => void)[] = [];
  readonly #ended: Promise<unknown>;

  /** `script` is the body of an async function; what it passes to `say` is read by {@link said}. */
  constructor(script: string, env: Record<string, string>) {
    this.#child = spawn(process.execPath, ['-e', `${PRELUDE} (async () => { ${script} })();`], {
      env: { PATH: process.env['PATH'] ?? '', PRELUDE, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#ended = new Promise((resolve) => this.#child.on('close', resolve));
    let text = '';
    this.#child.stdout?.on('data', (data: Buffer) => {
      const parts = (text + data.toString()).split('\n');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const take = this.#waiting.shift();
        if (take) take(JSON.parse(part));
        else this.#lines.push(JSON.parse(part));
      }
    });
    this.#child.stderr?.on('data', (data: Buffer) => (this.stderr += data.toString()));
  }

  /** The next thing that the script says. */
  async said<T>(): Promise<T> {
    if (this.#lines.length > 0) return this.#lines.shift() as T;
    const failed = this.#ended.then(() => Promise.reject(new Error(`the app has ended: ${this.stderr}`)));
    return Promise.race([new Promise((resolve) => this.#waiting.push(resolve)), failed]) as Promise<T>;
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
