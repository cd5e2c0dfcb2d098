import type { Fields } from './timestamps.js';

/** The refusal of a value because of its size, by the service or a proxy. */
export interface TooLarge {
  code: 'too_large';
  message: string;
}

/** How many levels of an error's causes are checked. */
const CAUSES = 5;

/**
 * The refusal of a value because of its size, if an error or one of its causes is one. A proxy's refusal counts, too:
 * every further delivery would fail in the same way until an operator raises the proxy's limit, as the message says.
 */
export function tooLarge(error: unknown): TooLarge | undefined {
  let cause = error as { status?: unknown; code?: unknown; message?: unknown; cause?: unknown } | null | undefined;
  for (let i = 0; i < CAUSES && typeof cause === 'object' && cause !== null; i++, cause = cause.cause as typeof cause) {
    if (cause.status === 413 && cause.code === 'too_large') return { code: 'too_large', message: String(cause.message) };
  }
  return undefined;
}

/** From this spec version on, a step's error is bytes in the SDK's own format (contract §2.5). */
const FIRST_BYTES_SPEC = 4;

/**
 * The event that replaces a step_completed whose result is too large. The SDK has no error for that: it would run the
 * step again, up to its limit, and always in vain. As with a result that cannot be serialized, the step fails
 * permanently, and its workflow can catch that.
 */
export function failedForSize({ correlationId, specVersion, eventData }: Fields, { message }: TooLarge): Fields {
  const sentence = `The result of the step is too large: ${message}`;
  const { stepName, workflowName } = eventData as Fields;
  const error = Number(specVersion) < FIRST_BYTES_SPEC ? { error: sentence } : { error: fatalError(sentence) };
  return { eventType: 'step_failed', correlationId, specVersion, eventData: { stepName, workflowName, ...error } };
}

/** A FatalError as SDK v5 writes it: a list of values that refer to each other by index. */
function fatalError(message: string): Uint8Array {
  const parts = [['FatalError', 1], { message: 2, stack: 3 }, message, `FatalError: ${message}`];
  return new TextEncoder().encode(`devl${JSON.stringify(parts)}`);
}

/**
 * Where to split a batch that is too large as a whole: in the middle, but never between the events of one entity,
 * which are adjacent and count as one. Undefined if there is no such place.
 */
export function parting(entities: readonly unknown[]): number | undefined {
  const middle = entities.length >> 1;
  for (let at = middle; at > 0; at--) if (entities[at] !== entities[at - 1]) return at;
  for (let at = middle + 1; at < entities.length; at++) if (entities[at] !== entities[at - 1]) return at;
  return undefined;
}
