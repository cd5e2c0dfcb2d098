import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { asBasePath } from './basePaths.js';

/** A development server may have to compile the route first. */
const TIMEOUT_MS = 60_000;
/** Of an answer; those that are looked for are short. */
const READ_BYTES = 16 * 1024;

const FLOW_ROUTE = '/.well-known/workflow/v1/flow';

/** What a probe found out: nothing is wrong, or why not. */
export type Probed = { ok: true } | { ok: false; why: string };

interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Whether a workflow app answers at a base URL. The SDK answers the request by itself, before any code of the app. */
export async function probeHealth(baseUrl: string): Promise<Probed> {
  const url = `${baseUrl}${FLOW_ROUTE}?__health`;
  try {
    const { status, headers, body } = await send('POST', url);
    // Early betas of SDK 4.0.1 do not know this request, so this client's handler refuses it; later ones answer with a sentence.
    if (headers['x-world-redis-client'] !== undefined) return { ok: true };
    const healthy = /"healthy"\s*:\s*true/.test(body) || body.includes('endpoint is healthy');
    if (status >= 200 && status <= 299 && healthy) return { ok: true };
    return { ok: false, why: `POST ${url}: ${status}` };
  } catch (error) {
    return { ok: false, why: `POST ${url}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Header of a request that asks the handler of a route whether it is in the process with this id. */
export const PROCESS_HEADER = 'x-world-redis-process';

/** Whether requests to a base URL reach the process with this id, for example by way of a proxy. */
export async function reachesProcess(baseUrl: string, id: string): Promise<boolean> {
  try {
    const { status, headers } = await send('POST', `${baseUrl}${FLOW_ROUTE}`, { [PROCESS_HEADER]: id });
    return status === 200 && headers[PROCESS_HEADER] === id;
  } catch {
    return false;
  }
}

/**
 * The base path that a server names in its answer to `/`: servers with one redirect there or, in development, have a
 * page that links to it.
 */
export async function basePathAt(origin: string): Promise<string | undefined> {
  try {
    const { status, headers, body } = await send('GET', `${origin}/`);
    if (status >= 300 && status <= 399 && headers.location !== undefined) {
      const target = new URL(headers.location, origin);
      return target.origin === new URL(origin).origin ? asBasePath(target.pathname) : undefined;
    }
    return status === 404 ? asBasePath(/(?:did you mean to visit |<a href=")[^/]{0,40}(\/[^\s"'<>]*)/i.exec(body)?.[1]) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Sends a request on a connection of its own that does not keep the process alive. Astro refuses a POST of another
 * origin that has no content type, and Fastify one that has a type and no body.
 */
function send(method: string, url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const body = method === 'POST' ? '{}' : '';
  const typed = method === 'POST' ? { 'content-type': 'application/json' } : {};
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, agent: false, headers: { 'user-agent': 'world-redis', 'content-length': body.length, ...typed, ...headers } }, (incoming) => {
      let answer = '';
      const done = () => {
        clearTimeout(timer);
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: answer });
        outgoing.destroy();
      };
      incoming.setEncoding('utf8');
      incoming.on('data', (text: string) => {
        answer += text;
        if (answer.length >= READ_BYTES) done();
      });
      incoming.on('end', done);
      incoming.on('error', reject);
    });
    const timer = setTimeout(() => outgoing.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    timer.unref();
    outgoing.on('socket', (socket: Socket) => socket.unref());
    outgoing.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing.end(body);
  });
}
