// @ts-check
// The only BullMQ worker process: it POSTs each job to the app with fetch, as the peers' workers do.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { Worker } = createRequire(join(process.cwd(), 'index.js'))('bullmq');
const { stubUrl, concurrency } = JSON.parse(process.argv[2]);

const worker = new Worker(
  'bench',
  async (job) => {
    const response = await fetch(`${stubUrl}/.well-known/workflow/v1/flow`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-vqs-queue-name': job.data.queueName,
        'x-vqs-message-id': job.id,
        'x-vqs-message-attempt': String(job.attemptsMade + 1),
      },
      body: job.data.message,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${text}`);
  },
  { connection: { url: process.env.WORKFLOW_REDIS_URL, maxRetriesPerRequest: null }, concurrency, drainDelay: 300 },
);
await worker.waitUntilReady();
console.log('ready');
