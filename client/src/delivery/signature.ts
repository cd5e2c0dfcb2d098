import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Config } from '../config.js';
import { processWide } from './processWide.js';
import { seenNonces } from './seenNonces.js';

/**
 * How far the timestamp of a signature may be from this machine's clock, either way.
 *
 * @internal Exported for tests.
 */
export const WINDOW_MS = 5 * 60_000;
const HEADER = 'x-world-signature';
/** The length, in bytes, of the preload that follows the message in the body. */
export const PRELOAD_HEADER = 'x-world-redis-attached';
/** Must equal the service's label, which derives its keys in the same way. */
const TOKEN_LABEL = 'world-redis delivery signature v1';

/** A received signature. */
interface Signature {
  timestamp: string;
  nonce: string;
  values: Buffer[];
}

/** The keys: those of the settings, otherwise one derived from each token; none if there are neither. */
export function signingKeys({ signingKeys: named, tokens }: Pick<Config, 'signingKeys' | 'tokens'>): Buffer[] {
  if (named.length > 0) return named.map((key) => Buffer.from(key, 'utf8'));
  return tokens.map((token) => createHmac('sha256', token).update(TOKEN_LABEL).digest());
}

/** What is wrong with the headers of a delivery, before its body is read; undefined if they may be valid. */
export function refusalOfHeaders(headers: Headers, now: number): string | undefined {
  const text = headers.get(HEADER);
  if (text === null) return 'the signature is missing';
  const signature = parse(text);
  if (!signature) return 'the signature cannot be read';
  const age = now - Number(signature.timestamp);
  if (age > WINDOW_MS) return 'the signature is too old; do the clocks differ?';
  if (age < -WINDOW_MS) return 'the signature is from the future; do the clocks differ?';
  return undefined;
}

/** What is wrong with a delivery; undefined if one of the keys has signed exactly this and it was not received before. */
export function refusalOfDelivery(headers: Headers, kind: string, body: Uint8Array, keys: Buffer[], now: number): string | undefined {
  // Checked again: reading the body may have taken long, and a nonce is remembered only as long as its signature is
  // valid.
  const unfit = refusalOfHeaders(headers, now);
  const signature = parse(headers.get(HEADER) ?? '');
  if (unfit !== undefined || !signature) return unfit;
  const signed = signedText(headers, kind, signature, body);
  let match = false;
  for (const key of keys) {
    const expected = createHmac('sha256', key).update(signed).digest();
    // All are compared, so that the time does not show which one is close.
    for (const value of signature.values) if (timingSafeEqual(value, expected)) match = true;
  }
  if (!match) return 'the signature is wrong; do the service and this app have the same key?';
  const first = seenNonces(WINDOW_MS).add(signature.nonce, Number(signature.timestamp), now);
  return first ? undefined : 'this delivery was received before';
}

/** Warns once, on stderr, that this app accepts every sender although it runs in production or its service signs. */
export function warnOfUnsigned(headers: Headers): void {
  const signed = headers.has(HEADER);
  if (!signed && process.env['NODE_ENV'] !== 'production') return;
  const warned = processWide('unsigned', () => ({ once: false }));
  if (warned.once) return;
  warned.once = true;
  const why = signed ? 'the service signs its deliveries' : 'this is production';
  process.stderr.write(
    `[world-redis] WARNING: ${why}, but this app has no key, so it accepts any request to its workflow routes. ` +
      'Set WORKFLOW_WORLD_TOKEN or WORKFLOW_WORLD_SIGNING_KEY, as on the service.\n',
  );
}

/** The signed text, with one item per line (docs/protocol.md). Headers are used as they were sent. */
function signedText(headers: Headers, kind: string, { timestamp, nonce }: Signature, body: Uint8Array): string {
  const sent = (name: string) => headers.get(name) ?? '';
  const preloadLength = sent(PRELOAD_HEADER);
  return [
    ...['v1', timestamp, nonce, kind],
    ...[sent('x-vqs-message-id'), sent('x-vqs-queue-name'), sent('x-vqs-message-attempt'), sent('content-type')],
    createHash('sha256').update(body).digest('hex'),
    ...(preloadLength === '' ? [] : [preloadLength]),
  ].join('\n');
}

/** Reads `t=<ms>,n=<nonce>,v1=<hex>,…`. Other fields are reserved for later versions. */
function parse(text: string): Signature | undefined {
  const fields = text.split(',').map((field) => field.trim().split('=') as [string, string?]);
  const all = (name: string) => fields.filter(([key]) => key === name).map(([, value]) => value ?? '');
  const [timestamp, nonce] = [all('t'), all('n')];
  const values = all('v1').filter((value) => /^[0-9a-f]{64}$/.test(value));
  if (timestamp.length !== 1 || nonce.length !== 1 || values.length === 0) return undefined;
  if (!/^\d{1,15}$/.test(timestamp[0] as string) || !/^[\w-]{16,64}$/.test(nonce[0] as string)) return undefined;
  return { timestamp: timestamp[0] as string, nonce: nonce[0] as string, values: values.map((value) => Buffer.from(value, 'hex')) };
}
