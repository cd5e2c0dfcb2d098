/** Brings a run, and the step, hook or wait in it, into the state that a row of the tables begins with. */
import type { RedisWorld } from '../../build/index.js';
import { type About, eventOf } from './events.js';
import { newHookId, newRunId, newStepId, newWaitId, ulid } from './ids.js';
import { type Spec, sdkOf } from './sdk.js';

export const RUN_STATES = ['missing', 'pending', 'running', 'completed', 'failed', 'cancelled'] as const;
export type RunState = (typeof RUN_STATES)[number];

const HOUR = 3_600_000;

export interface Scene {
  runId: string;
  about: About;
  /** The run's log as it was last seen. */
  log: any[];
}

/** `columns` belong to the family of the event, which is the part of its type before the underscore. */
export async function setScene(world: RedisWorld, spec: Spec, family: string, run: RunState, entity: string): Promise<Scene> {
  const runId = newRunId();
  const about: About = { id: newId(family), token: `token/${ulid()}` };
  if (run === 'missing') return { runId, about, log: [] };
  const send = (kind: string, of: string = runId, who: About = about) => world.events.create(of, eventOf(kind, spec, who));
  await send('run_created');
  if (run !== 'pending') await send('run_started');

  const other: About = { ...about, id: newId(family) };
  const elsewhere = async () => {
    const otherRun = newRunId();
    await send('run_created', otherRun);
    await send('hook_created', otherRun, other);
    return otherRun;
  };
  const kinds =
    (...events: string[]) =>
    async () => {
      for (const kind of events) await send(kind);
    };
  const retrying = (ms: number) => async () => {
    await kinds('step_created', 'step_started')();
    await send('step_retrying', runId, { ...about, retryAfter: new Date(Date.now() + ms) });
  };
  const steps: Record<string, () => Promise<unknown>> = {
    pending: kinds('step_created'),
    running: kinds('step_created', 'step_started'),
    completed: kinds('step_created', 'step_started', 'step_completed'),
    failed: kinds('step_created', 'step_started', 'step_failed'),
    'retry later': retrying(HOUR),
    'retry due': retrying(-1),
  };
  const hooks: Record<string, () => Promise<unknown>> = {
    live: kinds('hook_created'),
    disposed: kinds('hook_created', 'hook_disposed'),
    held: elsewhere,
    own: () => send('hook_created', runId, other),
    freed: async () => {
      await send('hook_created', runId, other);
      await send('hook_disposed', runId, other);
    },
    left: async () => send('run_cancelled', await elsewhere()),
    refused: async () => {
      await elsewhere();
      await send('hook_created');
    },
    kept: () => send('hook_created', runId, sdkOf(spec) === 'v4' ? about : { ...about, tokenRetentionUntil: new Date(Date.now() + HOUR) }),
  };
  const waits: Record<string, () => Promise<unknown>> = {
    waiting: kinds('wait_created'),
    completed: kinds('wait_created', 'wait_completed'),
  };
  const states: Record<string, Record<string, () => Promise<unknown>>> = { step: steps, hook: hooks, wait: waits };
  if (entity !== 'missing') await reach(states[family]?.[entity], entity);
  if (run !== 'pending' && run !== 'running') await send(`run_${run}`);
  return { runId, about, log: [] };
}

function newId(family: string): string {
  const mint: Record<string, () => string> = { hook: newHookId, wait: newWaitId };
  return (mint[family] ?? newStepId)();
}

async function reach(way: (() => Promise<unknown>) | undefined, entity: string): Promise<void> {
  if (!way) throw new Error(`nothing is known of "${entity}"`);
  await way();
}
