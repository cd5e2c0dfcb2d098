import { setMaxListeners } from 'node:events';
import { readFastPaths } from '../fastPaths.js';
import { WorkflowWorldError } from '../sdk/errors.js';
import { Bundles } from './bundles.js';
import { CallSockets } from './callSocket.js';
import { Exchange } from './exchange.js';

/**
 * Sockets for short calls. Enough to keep the service busy from one process; above that, calls wait their turn
 * instead of opening a thousand sockets at once.
 */
const CALL_CONNECTIONS = 64;
/** How long `close()` lets calls under way finish. */
const CLOSE_GRACE_MS = 2_000;

/** Everything this process holds open towards one service. */
export interface Connection {
  /** The path of the service's URL, without a trailing slash; usually empty. */
  basePath: string;
  /** For calls; they travel on {@link calls}. */
  bundles: Bundles;
  calls: Exchange;
  /** For bundles, too; undefined: they are off. */
  sockets: CallSockets | undefined;
  /** For calls that the service may keep waiting, which must not starve the others. */
  waits: Exchange;
  /** For live reads, which keep a socket for as long as they last and must not starve the calls. */
  reads: Exchange;
  /** Fires when the connection is closed: nothing that began on it may open it again. */
  closing: AbortController;
}

// One per service and process, not per World: the SDK creates two Worlds in every process.
const connections = new Map<string, Connection>();

/**
 * The connection to a service, made when it is first asked for and again after {@link closeConnection}. Idle sockets
 * do not keep the process alive (Node unrefs them).
 */
export function connectionTo(url: string): Connection {
  const existing = connections.get(url);
  if (existing) return existing;
  const { origin, basePath } = parseServiceUrl(url);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every waiting call listens, and Node would warn at eleven
  const calls = new Exchange(origin, CALL_CONNECTIONS);
  const fast = readFastPaths();
  const sockets = fast.has('socket') && fast.has('bundles') ? new CallSockets(`${origin}${basePath}/v1/calls`) : undefined;
  const connection: Connection = {
    basePath,
    calls,
    sockets,
    bundles: new Bundles(calls, sockets, basePath, fast.has('bundles')),
    waits: new Exchange(origin, Number.POSITIVE_INFINITY),
    reads: new Exchange(origin, Number.POSITIVE_INFINITY),
    closing,
  };
  connections.set(url, connection);
  return connection;
}

/** Ends the connection to a service: live reads at once, calls under way when they are done or after two seconds. */
export async function closeConnection(url: string): Promise<void> {
  const connection = connections.get(url);
  if (!connection) return;
  connections.delete(url);
  connection.closing.abort();
  const { calls, sockets, waits, reads } = connection;
  await new Promise((resolve) => setImmediate(resolve)); // calls made just now are sent at the end of the turn
  await Promise.all([reads.close(0), waits.close(0), calls.close(CLOSE_GRACE_MS), sockets?.close(CLOSE_GRACE_MS)]);
}

function parseServiceUrl(url: string): { origin: string; basePath: string } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
    throw new WorkflowWorldError(`WORKFLOW_WORLD_URL is "${url}", which is not an http or https URL such as http://127.0.0.1:8787`, { code: 'INVALID_CONFIG' });
  }
  return { origin: parsed.origin, basePath: parsed.pathname.replace(/\/+$/, '') };
}
