import type { QueueOptions } from '../types.js';

/** What queue() is called with. */
export interface Enqueued {
  queueName: string;
  message: unknown;
  options: QueueOptions;
}
