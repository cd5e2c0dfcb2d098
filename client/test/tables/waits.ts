/** Wait events (contract §3.2, §3.5), by the states of the run and of the wait. */
import type { Table } from './outcome.js';

export const waitTable: Table = {
  columns: ['missing', 'waiting', 'completed'],
  kinds: [
    {
      event: 'wait_created',
      rows: {
        missing: ['no run'],
        open: ['wait waiting | conflict', 'conflict', 'conflict'],
        ended: ['conflict', 'conflict', 'conflict'],
      },
    },
    {
      event: 'wait_completed',
      rows: {
        missing: ['no wait'],
        open: ['no wait', 'wait completed | conflict', 'conflict'],
        // Waits end with their run.
        ended: ['no wait', 'no wait', 'conflict'],
      },
    },
  ],
};
