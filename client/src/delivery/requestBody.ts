import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { processWide } from './processWide.js';

/**
 * If the app is served by Node's own `http`, the server creates a Request from Node's message and reads its body
 * through two kinds of streams. For a workflow of one step, that is a tenth of the time. So the body is read from
 * Node's message directly, if the message is known and nothing has begun to read it; otherwise from the Request as
 * usual.
 *
 * Node reports each incoming request (diagnostics channel `http.server.request.start`). The id of the delivered
 * message tells which of them a Request was created from. If two open requests have the same id, neither is used.
 */

const MESSAGE_ID = 'x-vqs-message-id';
const ATTEMPT = 'x-vqs-message-attempt';

/** The requests in progress, by the ids of the messages that they deliver. */
type Arrived = Map<string, IncomingMessage[]>;

function arrived(): Arrived {
  return processWide('arrived', () => {
    const open: Arrived = new Map();
    subscribe('http.server.request.start', (event) => note(open, event as { request: IncomingMessage; response: ServerResponse }));
    return open;
  });
}

function note(open: Arrived, { request, response }: { request: IncomingMessage; response: ServerResponse }): void {
  const id = request.headers[MESSAGE_ID];
  if (typeof id !== 'string') return;
  open.set(id, [...(open.get(id) ?? []), request]);
  response.once('close', () => {
    const others = open.get(id)?.filter((other) => other !== request) ?? [];
    if (others.length > 0) open.set(id, others);
    else open.delete(id);
  });
}

/** Starts recording Node's messages. */
export function noteArrivals(): void {
  arrived();
}

/** Reads the whole body of a delivery, from Node's message if `direct`. It is rejected if the body is incomplete, or was already read. */
export async function bodyOf(request: Request, direct: boolean): Promise<Uint8Array> {
  const incoming = direct ? incomingOf(request) : undefined;
  return incoming ? await readAll(incoming) : new Uint8Array(await request.arrayBuffer());
}

/** Node's message behind a request, if it is certain and its body was not touched. */
function incomingOf({ headers }: Request): IncomingMessage | undefined {
  const [incoming, ...others] = arrived().get(headers.get(MESSAGE_ID) ?? '') ?? [];
  const untouched = incoming?.readableFlowing === null && !incoming.readableDidRead && !incoming.destroyed;
  return untouched && others.length === 0 && incoming.headers[ATTEMPT] === headers.get(ATTEMPT) ? incoming : undefined;
}

function readAll(incoming: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.once('end', () => {
      const whole = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
      resolve(new Uint8Array(whole.buffer, whole.byteOffset, whole.byteLength));
    });
    incoming.once('error', reject);
    incoming.once('close', () => reject(new Error('the connection closed within the body')));
    // Code that has made a stream of it without reading would pause it.
    incoming.on('pause', () => incoming.resume());
  });
}
