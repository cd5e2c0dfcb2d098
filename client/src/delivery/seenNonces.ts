import { processWide } from './processWide.js';

/** The most nonces that are remembered: about ten megabytes. */
const MOST_NONCES = 100_000;

/** The nonces of the deliveries that this process has accepted, for as long as their signatures are valid. */
export class SeenNonces {
  /** Nonce → time of the signature, in order of arrival. */
  readonly #signedAt = new Map<string, number>();
  /** A nonce signed at this time or earlier may have been forgotten, so it is refused. */
  #forgotten = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly windowMs: number,
    private readonly most: number = MOST_NONCES,
  ) {}

  /** Whether the nonce is new; afterwards it is not. */
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

/** The nonces of this process. */
export function seenNonces(windowMs: number): SeenNonces {
  return processWide('nonces', () => new SeenNonces(windowMs));
}
