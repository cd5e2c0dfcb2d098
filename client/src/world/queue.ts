import type { Config } from '../config.js';
import { takeAnticipated } from '../delivery/anticipated.js';
import type { Enqueued } from '../delivery/enqueued.js';
import { appForQueue } from '../delivery/registration.js';
import { detectSdk } from '../sdk/sdk.js';
import { type Call, call } from '../transport/call.js';
import type { QueueOptions, RedisWorld } from '../types.js';
import { encode, encodeJson } from '../wire/encoding.js';

/** Builds queue(); nothing happens until it is called. Without a queueBatch() the SDK calls it for many messages at once. */
export function createQueue(config: () => Config): RedisWorld['queue'] {
  return async (queueName, message, options: QueueOptions = {}) => {
    const settings = config();
    const anticipated = takeAnticipated(settings, { queueName, message, options });
    return anticipated ?? queuedAs(await call(settings, queueCall(settings, { queueName, message, options })));
  };
}

/** The call that queues a message. */
export function queueCall(settings: Config, { queueName, message, options }: Enqueued): Call {
  const app = appForQueue(settings);
  // A process that serves no app and names no deployment (a script, the SDK's command line) has nothing to say
  // about where a message belongs; the service then goes by the run and by who is registered.
  const own = settings.deploymentNamed ? settings.deploymentId : app?.deploymentId;
  const body = encode({
    queueName,
    // The apps of v5 look into what is delivered to them and know JSON only, as the SDK's own Worlds deliver it.
    ...(detectSdk() === 'v5' ? { jsonMessage: encodeJson(message) } : { message }),
    idempotencyKey: options.idempotencyKey,
    delaySeconds: options.delaySeconds,
    headers: options.headers,
    deploymentId: options.deploymentId ?? own,
    // v4 leaves the namespace out of the names of steps (contract §4.1).
    namespace: settings.namespace,
    specVersion: options.specVersion,
    app,
  });
  return { method: 'POST', path: '/v1/queue', body };
}

/** What queue() returns, of the service's answer. */
export function queuedAs(answer: unknown): { messageId: string | null } {
  return { messageId: (answer as { messageId?: string } | null | undefined)?.messageId ?? null };
}
