import { WorkflowWorldError } from './sdk/errors.js';

/**
 * Cheaper ways to get the same result as the plain path (docs/fast-paths.md). The service has the same setting, so
 * some of these names apply only to it.
 */
const NAMES = ['pipeline', 'preload', 'anticipate', 'bundles', 'socket', 'fan-in', 'request-body', 'quiet'] as const;

export type FastPath = (typeof NAMES)[number];

/** The enabled fast paths. */
export type FastPaths = ReadonlySet<FastPath>;

let last: { list: string; socket: string | undefined; paths: FastPaths } | undefined;

/** Reads `WORKFLOW_WORLD_FAST_PATHS` and `WORKFLOW_WORLD_SOCKET`. It throws for an unknown name. */
export function readFastPaths(): FastPaths {
  const list = process.env['WORKFLOW_WORLD_FAST_PATHS'] ?? '';
  const socket = process.env['WORKFLOW_WORLD_SOCKET'];
  if (last?.list !== list || last.socket !== socket) {
    const paths = new Set(parse(list));
    if (socket === 'off') paths.delete('socket');
    last = { list, socket, paths };
  }
  return last.paths;
}

function parse(list: string): readonly FastPath[] {
  const text = list.trim();
  if (text === '' || text === 'all') return NAMES;
  if (text === 'none') return [];
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map(known);
}

function known(name: string): FastPath {
  const found = NAMES.find((one) => one === name);
  if (found !== undefined) return found;
  const message = `WORKFLOW_WORLD_FAST_PATHS names "${name}", which is not a fast path: use all, none, or a list of ${NAMES.join(', ')}`;
  throw new WorkflowWorldError(message, { code: 'INVALID_CONFIG' });
}
