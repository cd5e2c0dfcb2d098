/**
 * Hook events (contract §3.2, §3.6), by the states of the run and of the hook or its token. The token may be free, or
 * `held` by a hook of another run, `own` by another hook of the same run, `freed` by that hook's disposal, `left` by a
 * run that has ended; `refused` is a hook that has met a conflict before. `kept` is a hook with tokenRetentionUntil,
 * which outlives its run.
 */
import type { Table } from './outcome.js';

const met = 'hook conflict (hook_conflict) | hook conflict (none)'; // recorded once a hook, §3.6
const made = 'hook | conflict';
const all = (cell: string) => Array.from({ length: 9 }, () => cell);

export const hookTable: Table = {
  columns: ['missing', 'live', 'disposed', 'held', 'own', 'freed', 'left', 'refused', 'kept'],
  kinds: [
    {
      event: 'hook_created',
      rows: {
        missing: ['no run'],
        // Disposed is still created: a log has one hook_created of a hook, or v4 cannot replay it (§10 trap 13).
        open: [made, 'conflict', 'conflict', met, met, made, made, 'hook conflict (none)', 'conflict'],
        ended: all('conflict'),
      },
    },
    {
      event: 'hook_received',
      rows: {
        missing: ['no hook'],
        open: ['no hook', 'event', 'no hook', 'no hook', 'no hook', 'no hook', 'no hook', 'no hook', 'event'],
        'ended, v4': all('no hook'),
        'ended, v5': [...all('no hook').slice(1), 'expired'],
      },
    },
    {
      event: 'hook_disposed',
      rows: {
        missing: ['no hook'],
        open: ['no hook', 'event | no hook', 'no hook', 'no hook', 'no hook', 'no hook', 'no hook', 'no hook', 'event | no hook'],
        'ended, v4': all('no hook'),
        'ended, v5': [...all('no hook').slice(1), 'expired'],
      },
    },
  ],
};
