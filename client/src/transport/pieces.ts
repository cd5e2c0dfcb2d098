import type { Readable } from 'node:stream';

/**
 * A body in pieces, as received from the socket. The body's own iterator would first join the buffered pieces, which
 * copies everything that is read faster than it is used.
 */
export class Pieces {
  readonly #body: Readable;
  #came: Uint8Array[] = [];
  #ended = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(body: Readable) {
    this.#body = body;
    body.pause();
    body.on('data', (piece: Uint8Array) => {
      body.pause();
      this.#came.push(piece);
      this.#wake?.();
    });
    body.on('end', () => {
      this.#ended = true;
      this.#wake?.();
    });
    // The next read reports a failure. Without a listener, a failure between two reads would end the process.
    body.on('error', (error) => {
      this.#failure = error;
      this.#wake?.();
    });
    body.on('close', () => {
      this.#ended = true;
      this.#wake?.();
    });
  }

  /** The next piece; undefined at the end. Pieces from before a failure are returned before it is thrown. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const piece = this.#came.shift();
      if (piece !== undefined) return piece;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#body.resume();
      });
      this.#wake = undefined;
    }
  }
}
