import { types } from 'node:util';

/** A plain object off the wire. */
export type Fields = Record<string, unknown>;

/** The moments of entities and events (contract §10, trap 2). */
const ENTITY_MOMENTS = [
  'createdAt',
  'updatedAt',
  'startedAt',
  'completedAt',
  'expiredAt',
  'retryAfter',
  'resumeAt',
  'tokenRetentionUntil',
  'occurredAt',
];

/** The moments among an event's own data. Everything else in there is somebody's payload and is left alone. */
const EVENT_DATA_MOMENTS = ['retryAfter', 'resumeAt', 'tokenRetentionUntil'];

/** The event data to send: known moments as epoch milliseconds, which is what the wire has. */
export function eventDataToWire(eventData: unknown): unknown {
  if (!isFields(eventData)) return eventData;
  const wire = { ...eventData };
  for (const key of EVENT_DATA_MOMENTS) wire[key] = toMillis(wire[key]);
  return wire;
}

/** A `Date` as epoch milliseconds; anything else as it is (the service also takes ISO 8601 text). */
export function toMillis(value: unknown): unknown {
  return types.isDate(value) ? Number(value) : value;
}

/**
 * Makes an entity (run, step, hook, wait) what the SDK expects, in place: moments are `Date`s, and an absent field is
 * absent, never null.
 */
export function reviveEntity(entity: unknown): unknown {
  if (!isFields(entity)) return entity;
  for (const key of Object.keys(entity)) {
    if (entity[key] === null) delete entity[key];
  }
  reviveMoments(entity, ENTITY_MOMENTS);
  return entity;
}

/** The same for an event and its data. Nulls in the data stay: there they may be a payload. */
export function reviveEvent(event: unknown): unknown {
  if (!isFields(event)) return event;
  reviveEntity(event);
  if (isFields(event['eventData'])) reviveMoments(event['eventData'], EVENT_DATA_MOMENTS);
  return event;
}

function reviveMoments(fields: Fields, keys: string[]): void {
  for (const key of keys) {
    const value = fields[key];
    if (typeof value === 'number') fields[key] = new Date(value);
  }
}

/** Whether a value is a plain object rather than bytes, a date, an array or a scalar. */
export function isFields(value: unknown): value is Fields {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !types.isUint8Array(value) &&
    !types.isDate(value)
  );
}
