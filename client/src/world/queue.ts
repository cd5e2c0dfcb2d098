import type { Config } from '../config.js';
import { takeAnticipated } from '../delivery/anticipated.js';
import type { Enqueued } from '../delivery/enqueued.js';
import { appForQueue } from '../delivery/registration.js';
import { detectSdk } from '../sdk/sdk.js';
import { type Call, call } from '../transport/call.js';
import type { QueueOptions, RedisWorld } from '../types.js';
import { encode, encodeJson } from '../wire/encoding.js';

/** Builds queue(). It does nothing until it is called. There is no queueBatch(), so the SDK makes concurrent calls for several messages. */
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
  // A process that serves no app and names no deployment (a script, the SDK's command line) does not know where a
  // message belongs. The service then uses the run and the registered apps.
  const own = settings.deploymentNamed ? settings.deploymentId : app?.deploymentId;
  const body = encode({
    queueName,
    // The apps of v5 inspect a delivered message and know only JSON, as in the SDK's own Worlds.
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

/** The result of queue(), from the service's answer. */
export function queuedAs(answer: unknown): { messageId: string | null } {
  return { messageId: (answer as { messageId?: string } | null | undefined)?.messageId ?? null };
}
