import { processWide } from './processWide.js';

/** What a handler came to: how the delivery is answered. */
export interface Reply {
  status: number;
  body: Record<string, unknown>;
}

/**
 * Runs deliveries of one message one after the other, in whatever bundle of this process they arrive: the service may
 * deliver a message again because it was restarted, or because the connection broke, while the handler still runs.
 *
 * A message of its own kind (`whole`) is then worked on once: the later delivery gets the answer of the earlier one,
 * unless that failed. Other messages are different: while a wake-up lies in the queue again, the service folds
 * newer wake-ups of the run into it, and the handler that runs already may have looked before those came. So the
 * later delivery runs, too, when the earlier one has ended; it finds in the log all that was done. `work` is called with
 * whether it had to wait: what the service read for the delivery is then older than what the earlier one did.
 */
export async function inTurn(messageId: string, whole: boolean, work: (waited: boolean) => Promise<Reply>): Promise<Reply> {
  const underWay = processWide('deliveries', () => new Map<string, Promise<Reply>>());
  let waited = false;
  for (let earlier = underWay.get(messageId); earlier; earlier = underWay.get(messageId)) {
    const reply = await earlier;
    waited = true;
    if (whole && reply.status === 200) return reply;
  }
  const mine = work(waited).finally(() => underWay.delete(messageId));
  underWay.set(messageId, mine);
  return mine;
}
