/**
 * The words of the tables. A cell says how a call is answered, and after ` | ` how the same call of another caller is
 * answered then; one answer stands for both.
 *
 * An answer is a refusal, by its name below, or what the event leaves behind: `step running #1` is a step of that
 * status and attempt. The log grows by one event of the type that was sent; where it does not, the events stand behind
 * in brackets: `run running (none)`.
 */
export interface Refusal {
  name: string;
  status: number;
  /** What the error says beyond its name; `id` is the entity that the event was sent to. */
  fields: (runId: string, id: string) => Record<string, unknown>;
  message?: (runId: string, id: string) => string;
}

const nothing = () => ({});

/** Contract §3, the classes of the refusals. */
export const REFUSALS = {
  'no run': { name: 'WorkflowRunNotFoundError', status: 404, fields: (runId) => ({ runId }) },
  'no hook': { name: 'HookNotFoundError', status: 404, fields: (_runId, id) => ({ token: id }) },
  'no step': {
    name: 'WorkflowWorldError',
    status: 404,
    fields: () => ({ status: 404 }),
    message: (_runId, id) => `Step "${id}" not found`,
  },
  'no wait': {
    name: 'WorkflowWorldError',
    status: 404,
    fields: () => ({ status: 404 }),
    message: (_runId, id) => `Wait "${id}" not found`,
  },
  conflict: { name: 'EntityConflictError', status: 409, fields: nothing },
  expired: { name: 'RunExpiredError', status: 410, fields: nothing },
  'too early': { name: 'TooEarlyError', status: 425, fields: nothing },
  invalid: { name: 'WorkflowWorldError', status: 400, fields: () => ({ status: 400 }) },
  'bad attribute': { name: 'AttributeValidationError', status: 400, fields: nothing },
} as const satisfies Record<string, Refusal>;

export interface Success {
  entity: string;
  /** The events that the log grows by. */
  events: string[];
}

export type Answer = { refusal: Refusal } | { success: Success };

/** Reads a cell: the answer to the first call, and to the repeat by another caller. */
export function readCell(cell: string, eventType: string): [Answer, Answer] {
  const [first, repeat] = cell.split(' | ');
  const answer = readAnswer(String(first), eventType);
  return [answer, repeat === undefined ? answer : readAnswer(repeat, eventType)];
}

function readAnswer(text: string, eventType: string): Answer {
  if (text in REFUSALS) return { refusal: REFUSALS[text as keyof typeof REFUSALS] };
  const [, entity, listed] = /^([a-z]+(?: [a-z]+)?(?: #\d+)?)(?: \((.+)\))?$/.exec(text) ?? [];
  if (entity === undefined) throw new Error(`the table says "${text}"`);
  const events = listed === undefined ? [eventType] : listed === 'none' ? [] : listed.split(', ');
  return { success: { entity, events } };
}

/** One kind of event: what is sent, and the answers by the states of the run and of the entity. */
export interface Rows {
  /** A key of the event maker, such as `step_started with input`. */
  event: string;
  /** The SDK that sends it, when not both do. */
  only?: 'v4' | 'v5';
  /** By the run's state (`open` is pending or running, `ended` the three ends; `, v4` one SDK), the cells in the order of the columns. */
  rows: Record<string, string[]>;
}

export interface Table {
  /** The states of the entity that the event is for. */
  columns: string[];
  kinds: Rows[];
}
