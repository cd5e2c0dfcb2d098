/**
 * The text of a header. A queue name contains a file path, so it may have non-ASCII characters: the service
 * percent-encodes it, and raw UTF-8 arrives byte by byte.
 */
export function headerText(value: string | null): string | null {
  if (value === null) return null;
  try {
    if (value.includes('%')) return decodeURIComponent(value);
    if (/[\u0080-\uffff]/.test(value)) return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'));
  } catch {
    // Neither form: used unchanged.
  }
  return value;
}
