import { processWide } from './processWide.js';

/** How many are remembered at most: about ten megabytes. */
const MOST_NONCES = 100_000;

/** The nonces of the deliveries that this process has accepted, as long as their signatures are valid. */
export class SeenNonces {
  /** Nonce → when it was signed, in the order of arrival. */
  readonly #signedAt = new Map<string, number>();
  /** What was signed at this time or before may have been forgotten, and so is refused. */
  #forgotten = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly windowMs: number,
    private readonly most: number = MOST_NONCES,
  ) {}

  /** Whether this is the first time; it is no longer afterwards. */
  add(nonce: string, signedAt: number, now: number): boolean {
    if (signedAt <= this.#forgotten || this.#signedAt.has(nonce)) return false;
    this.#signedAt.set(nonce, signedAt);
    this.#forgetTheOld(now);
    return true;
  }

  #forgetTheOld(now: number): void {
    for (const [nonce, signedAt] of this.#signedAt) {
      const expired = signedAt < now - this.windowMs;
      if (!expired && this.#signedAt.size <= this.most) return;
      if (!expired) this.#forgotten = Math.max(this.#forgotten, signedAt);
      this.#signedAt.delete(nonce);
    }
  }
}

/** Those of this process. */
export function seenNonces(windowMs: number): SeenNonces {
  return processWide('nonces', () => new SeenNonces(windowMs));
}
