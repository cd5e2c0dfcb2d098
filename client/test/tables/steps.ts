/**
 * Step events (contract §3.2, §3.4), by the states of the run and of the step. No step is ever `cancelled` (§2.2): a
 * cancelled run leaves its steps as they are, which are the rows of ended runs. `retry later` is a step whose
 * retryAfter is an hour ahead, `retry due` one whose retryAfter has passed; both have failed once.
 */
import type { Table } from './outcome.js';

const all = (cell: string) => Array.from({ length: 7 }, () => cell);

const ended = (to: string) => {
  const once = `step ${to} #1 | conflict`;
  return ['no step', `step ${to} #0 | conflict`, once, 'conflict', 'conflict', once, once];
};

const retried = ['no step', 'step pending #0', 'step pending #1', 'conflict', 'conflict', 'step pending #1', 'step pending #1'];

export const stepTable: Table = {
  columns: ['missing', 'pending', 'running', 'completed', 'failed', 'retry later', 'retry due'],
  kinds: [
    {
      event: 'step_created',
      rows: {
        missing: ['no run'],
        open: ['step pending #0 | conflict', ...all('conflict').slice(1)],
        ended: all('conflict'),
      },
    },
    {
      event: 'step_started',
      rows: {
        missing: ['no step'],
        open: ['no step', 'step running #1 | step running #2', 'step running #2 | step running #3', 'conflict', 'conflict', 'too early', 'step running #2 | step running #3'],
        // A missing step of an ended run is expired and not missing, so that its message is not sent again and again.
        'ended, v4': ['expired', 'expired', 'step running #2 | step running #3', 'conflict', 'conflict', 'expired', 'expired'],
        'ended, v5': ['expired', 'expired', 'expired', 'conflict', 'conflict', 'expired', 'expired'],
      },
    },
    {
      // The lazy start: makes the step, for one caller only.
      event: 'step_started with input',
      only: 'v5',
      rows: {
        missing: ['no run'],
        open: ['step running #1 (step_created, step_started) | conflict', ...all('conflict').slice(1)],
        ended: all('conflict'),
      },
    },
    {
      // Does not look at the run.
      event: 'step_completed',
      rows: { missing: ['no step'], open: ended('completed'), ended: ended('completed') },
    },
    {
      event: 'step_failed',
      rows: {
        missing: ['no step'],
        open: ended('failed'),
        ended: ['expired', 'expired', 'step failed #1 | conflict', 'conflict', 'conflict', 'expired', 'expired'],
      },
    },
    {
      // Does not look at the run.
      event: 'step_retrying',
      rows: { missing: ['no step'], open: retried, ended: retried },
    },
  ],
};
