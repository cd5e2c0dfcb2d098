import { processWide } from './processWide.js';

/** A handler's result: the answer to the delivery. */
export interface Reply {
  status: number;
  body: Record<string, unknown>;
}

/**
 * Runs deliveries of one message one after the other, even if they arrive in different bundles of this process. The
 * service may deliver a message again while the handler still runs, because the service was restarted or the
 * connection broke.
 *
 * A message for one step (`whole`) is processed only once: the later delivery gets the answer of the earlier one,
 * unless that failed. Other messages differ: while a wake-up is queued again, the service merges newer wake-ups of
 * the run into it, and the running handler may have read the log before those. So the later delivery runs, too, once
 * the earlier one has ended, and finds all results in the log. `work` is called with whether it had to wait: a
 * preload is then older than the results of the earlier delivery.
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
