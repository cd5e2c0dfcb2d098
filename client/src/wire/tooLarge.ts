import type { Fields } from './timestamps.js';

/** The refusal of a value for its size, by the service or by something in front of it. */
export interface TooLarge {
  code: 'too_large';
  message: string;
}

/** How far down an error's causes are looked at. */
const CAUSES = 5;

/**
 * The refusal of a value for its size, if that is what an error or one of its causes is. One by something in front of the
 * service counts as well: every further delivery would come to the same until somebody raises its limit, which the
 * message asks for.
 */
export function tooLarge(error: unknown): TooLarge | undefined {
  let cause = error as { status?: unknown; code?: unknown; message?: unknown; cause?: unknown } | null | undefined;
  for (let i = 0; i < CAUSES && typeof cause === 'object' && cause !== null; i++, cause = cause.cause as typeof cause) {
    if (cause.status === 413 && cause.code === 'too_large') return { code: 'too_large', message: String(cause.message) };
  }
  return undefined;
}

/** From this spec version on, the error of a step is bytes of the SDK's own format (contract §2.5). */
const FIRST_BYTES_SPEC = 4;

/**
 * The event that takes the place of a step_completed whose result is too large. The SDK has no error for that: it would
 * run the step again, as often as it may, and each time for nothing. As with a result that cannot be serialized, the step
 * fails for good, and its workflow can catch that.
 */
export function failedForSize({ correlationId, specVersion, eventData }: Fields, { message }: TooLarge): Fields {
  const sentence = `The result of the step is too large: ${message}`;
  const { stepName, workflowName } = eventData as Fields;
  const error = Number(specVersion) < FIRST_BYTES_SPEC ? { error: sentence } : { error: fatalError(sentence) };
  return { eventType: 'step_failed', correlationId, specVersion, eventData: { stepName, workflowName, ...error } };
}

/** A FatalError as SDK v5 writes it: values in a list that refer to one another by index. */
function fatalError(message: string): Uint8Array {
  const parts = [['FatalError', 1], { message: 2, stack: 3 }, message, `FatalError: ${message}`];
  return new TextEncoder().encode(`devl${JSON.stringify(parts)}`);
}

/**
 * Where a batch that is too large together can be parted: in the middle, but never between the events of one entity,
 * which are next to each other and count as one. Undefined when there is no such place.
 */
export function parting(entities: readonly unknown[]): number | undefined {
  const middle = entities.length >> 1;
  for (let at = middle; at > 0; at--) if (entities[at] !== entities[at - 1]) return at;
  for (let at = middle + 1; at < entities.length; at++) if (entities[at] !== entities[at - 1]) return at;
  return undefined;
}
