import type { QueueOptions } from '../types.js';

/** The arguments of queue(). */
export interface Enqueued {
  queueName: string;
  message: unknown;
  options: QueueOptions;
}
