import { setMaxListeners } from 'node:events';
import { readFastPaths } from '../fastPaths.js';
import { WorkflowWorldError } from '../sdk/errors.js';
import { Bundles } from './bundles.js';
import { CallSockets } from './callSocket.js';
import { Exchange } from './exchange.js';

/**
 * Connections for short calls. They are enough to keep the service busy from one process; further calls wait instead
 * of opening a thousand connections.
 */
const CALL_CONNECTIONS = 64;
/** How long `close()` waits for calls in progress. */
const CLOSE_GRACE_MS = 2_000;

/** Everything that this process keeps open to one service. */
export interface Connection {
  /** The path of the service's URL, without a trailing slash; usually empty. */
  basePath: string;
  /** For calls; they use {@link calls}. */
  bundles: Bundles;
  calls: Exchange;
  /** For bundles, too; undefined if they are off. */
  sockets: CallSockets | undefined;
  /** For calls that the service may keep waiting; they must not delay the others. */
  waits: Exchange;
  /** For live reads, which occupy a connection for as long as they last; they must not delay the calls. */
  reads: Exchange;
  /** Fires when the connection is closed: nothing that began on it may open it again. */
  closing: AbortController;
}

// Per service and process, not per World: the SDK creates two Worlds in every process.
const connections = new Map<string, Connection>();

/**
 * The connection to a service, created at the first use and again after {@link closeConnection}. Idle connections do
 * not keep the process alive (Node unrefs them).
 */
export function connectionTo(url: string): Connection {
  const existing = connections.get(url);
  if (existing) return existing;
  const { origin, basePath } = parseServiceUrl(url);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every waiting call listens, and Node would warn from eleven on
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

/** Ends the connection to a service: live reads immediately, calls in progress when they are done or after two seconds. */
export async function closeConnection(url: string): Promise<void> {
  const connection = connections.get(url);
  if (!connection) return;
  connections.delete(url);
  connection.closing.abort();
  const { calls, sockets, waits, reads } = connection;
  await new Promise((resolve) => setImmediate(resolve)); // calls that were just made are sent at the end of the turn
  await Promise.all([reads.close(0), waits.close(0), calls.close(CLOSE_GRACE_MS), sockets?.close(CLOSE_GRACE_MS)]);
}

function parseServiceUrl(url: string): { origin: string; basePath: string } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
    throw new WorkflowWorldError(`WORKFLOW_WORLD_URL is "${url}", which is not an http or https URL such as http://127.0.0.1:8787`, { code: 'INVALID_CONFIG' });
  }
  return { origin: parsed.origin, basePath: parsed.pathname.replace(/\/+$/, '') };
}
