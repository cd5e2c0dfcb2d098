/** A TCP port on which a process listens. */
export interface Listener {
  port: number;
  /** The IP address to which it is bound; undefined for all addresses of the machine. */
  host: string | undefined;
  pid: number;
}

/** The {@link Listener.host} of an IP address, as the system writes it. */
export function hostOf(address: string): string | undefined {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return plain === '*' || plain === '0.0.0.0' || plain === '::' ? undefined : plain;
}

/** The URL of a port, without a path. */
export function originOf({ host, port }: Pick<Listener, 'host' | 'port'>): string {
  // Not for ::1: where localhost is 127.0.0.1 alone, or another app listens there, that would be another address.
  if (host === undefined || host === '127.0.0.1') return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The port in a text; undefined if it is none. */
export function portOf(text: string | undefined): number | undefined {
  const port = /^\d{1,5}$/.test(text ?? '') ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}
