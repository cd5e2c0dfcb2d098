/** Run events and attributes (contract §3.1 to §3.3, §3.5), by the state of the run. */
import type { Table } from './outcome.js';

export const runTable: Table = {
  columns: ['missing'], // there is no other entity
  kinds: [
    {
      event: 'run_created',
      rows: {
        missing: ['run pending | conflict'],
        open: ['conflict'],
        ended: ['conflict'],
      },
    },
    {
      event: 'run_started',
      rows: {
        missing: ['no run'],
        // Comes with every delivery: nothing is appended and startedAt stays, §10 traps 9 and 14.
        pending: ['run running | run running (none)'],
        running: ['run running (none)'],
        ended: ['expired'],
      },
    },
    {
      // The resilient start, §3.1 item 5: the queue was faster than run_created.
      event: 'run_started with input',
      rows: {
        missing: ['run running (run_created, run_started) | run running (none)'],
        pending: ['run running | run running (none)'],
        running: ['run running (none)'],
        ended: ['expired'],
      },
    },
    ...(['run_completed', 'run_failed'] as const).map((event) => ({
      event,
      rows: {
        missing: ['no run'],
        open: [`run ${event.slice(4)} | conflict`],
        ended: ['conflict'],
      },
    })),
    {
      event: 'run_cancelled',
      rows: {
        missing: ['no run'],
        open: ['run cancelled'],
        completed: ['conflict'],
        failed: ['conflict'],
        cancelled: ['run cancelled'],
      },
    },
    {
      event: 'attr_set',
      only: 'v5',
      rows: {
        missing: ['no run'],
        pending: ['run pending | conflict'],
        running: ['run running | conflict'],
        ended: ['conflict'],
      },
    },
    {
      // Carries no correlation id, so nothing tells a repeat from another write.
      event: 'attr_set by a step',
      only: 'v5',
      rows: {
        missing: ['no run'],
        pending: ['run pending'],
        running: ['run running'],
        ended: ['conflict'],
      },
    },
    {
      // Not an event of v4 (§2.5): its runs have no attributes that it could change.
      event: 'attr_set',
      only: 'v4',
      rows: { missing: ['no run'], open: ['bad attribute'], ended: ['bad attribute'] },
    },
    ...(['hook_conflict', 'noop', 'run_paused'] as const).map((event) => ({
      // Written by the World alone (§2.5), or by nobody.
      event,
      rows: { missing: ['invalid'], open: ['invalid'], ended: ['invalid'] },
    })),
  ],
};
