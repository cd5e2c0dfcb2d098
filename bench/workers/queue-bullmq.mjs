// @ts-check
// The same measurement with a BullMQ queue, and the options that the peers set for each job.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { measureQueue } from './queue.mjs';

const { Queue } = createRequire(join(process.cwd(), 'index.js'))('bullmq');

await measureQueue(async () => {
  const queue = new Queue('bench', { connection: { url: process.env.WORKFLOW_REDIS_URL, maxRetriesPerRequest: null } });
  await queue.waitUntilReady();
  return {
    add: async (name, message, delay) => {
      const jobId = `msg_${message.runId}`;
      await queue.add(
        name,
        { queueName: `__wkf_workflow_${name}`, message: JSON.stringify(message) },
        {
          jobId,
          delay,
          attempts: 5,
          backoff: { type: 'exponential', delay: 1_000 },
          removeOnComplete: { age: 86_400, count: 1_000 },
          removeOnFail: { age: 604_800 },
        },
      );
      return jobId;
    },
    close: () => queue.close(),
  };
});
