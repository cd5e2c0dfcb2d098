import { open, readdir, readlink } from 'node:fs/promises';
import { endianness } from 'node:os';
import { mayReadProc } from './deno.js';
import { hostOf, type Listener } from './listener.js';

/** Listening sockets are opened early, so a process with more connections than this has them among its first files. */
const MOST_FILES = 4096;
/** Linux lists listening sockets before all others, some 1600 in this many bytes. */
const TABLE_BYTES = 256 * 1024;
const READ_BYTES = 16 * 1024;
/** The state of a listening socket in the tables. */
const LISTENING = '0A';

/** In parts that are joined here: bundlers that trace files would take a whole path for a file of the app. */
export const proc = (...parts: (string | number)[]) => ['', 'proc', ...parts].join('/');

/** The ports on which processes listen on Linux. Undefined if this process may not even see its own. */
export async function procListeners(pids: number[]): Promise<Listener[] | undefined> {
  if (!mayReadProc()) return undefined;
  const found = await Promise.all(pids.map(ofProcess));
  return found[pids.indexOf(process.pid)] === undefined ? undefined : found.flatMap((listeners) => listeners ?? []);
}

async function ofProcess(pid: number): Promise<Listener[] | undefined> {
  try {
    const sockets = await socketsOf(pid);
    const tables = await Promise.all([listeningIn(proc(pid, 'net', 'tcp')), listeningIn(proc(pid, 'net', 'tcp6')).catch(() => [])]);
    const bySocket = new Map(tables.flat());
    return sockets.flatMap((socket) => {
      const address = bySocket.get(socket);
      return address === undefined ? [] : [{ ...address, pid }];
    });
  } catch {
    return undefined; // it has ended, or is another user's
  }
}

/** The inodes of a process's sockets, in the order of their file descriptors. */
async function socketsOf(pid: number): Promise<string[]> {
  const descriptors = (await readdir(proc(pid, 'fd'))).map(Number).sort((a, b) => a - b);
  const links = await Promise.all(descriptors.slice(0, MOST_FILES).map((fd) => readlink(proc(pid, 'fd', fd)).catch(() => '')));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}

type Address = Pick<Listener, 'host' | 'port'>;

/** The listening sockets of a table by their inodes. */
async function listeningIn(table: string): Promise<[string, Address][]> {
  const file = await open(table);
  try {
    // Linux answers each read with a page at most, some 26 sockets.
    const buffer = Buffer.alloc(READ_BYTES);
    const found: [string, Address][] = [];
    for (let rest = '', total = 0; total < TABLE_BYTES; ) {
      const { bytesRead } = await file.read(buffer, 0, READ_BYTES);
      total += bytesRead;
      const lines = (rest + buffer.toString('latin1', 0, bytesRead)).split('\n');
      rest = bytesRead === 0 ? '' : (lines.pop() ?? '');
      const listening = parseTable(lines.join('\n'));
      found.push(...listening);
      // The heading is in the first part.
      if (bytesRead === 0 || listening.length < lines.length - (total === bytesRead ? 1 : 0)) break;
    }
    return found;
  } finally {
    await file.close();
  }
}

/**
 * The listening sockets in the text of `/proc/net/tcp` or `tcp6`, by their inodes.
 *
 * @internal Exported for tests.
 */
export function parseTable(text: string, order: 'LE' | 'BE' = endianness()): [string, Address][] {
  return text.split('\n').flatMap((line): [string, Address][] => {
    // sl, local_address, rem_address, st, queues, timer, retransmissions, uid, timeout, inode
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    const [address = '', port = ''] = local.split(':');
    if (state !== LISTENING || inode === undefined) return [];
    return [[inode, { host: hostOf(readAddress(address, order)), port: Number.parseInt(port, 16) }]];
  });
}

/** An IP address as the tables have it: 32-bit words in the order of bytes of the machine. */
function readAddress(hex: string, order: 'LE' | 'BE'): string {
  const bytes = Buffer.from(hex, 'hex');
  if (order === 'LE') bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.subarray(0, 12).equals(MAPPED)) return bytes.subarray(12).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** An IPv4 address within IPv6 begins with it. */
const MAPPED = Buffer.from('00000000000000000000ffff', 'hex');
