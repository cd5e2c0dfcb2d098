import { types } from 'node:util';

/** A plain object from the wire. */
export type Fields = Record<string, unknown>;

/** The timestamps of entities and events (contract §10, trap 2). */
const ENTITY_TIMESTAMPS = new Set(['createdAt', 'updatedAt', 'startedAt', 'completedAt', 'expiredAt', 'retryAfter', 'resumeAt', 'tokenRetentionUntil', 'occurredAt']);

/** The timestamps in an event's own data. All other data is payload and left unchanged. */
const EVENT_DATA_TIMESTAMPS = new Set(['retryAfter', 'resumeAt', 'tokenRetentionUntil']);

/** The event data to send: known timestamps as epoch milliseconds, the wire's form. */
export function eventDataToWire(eventData: unknown): unknown {
  if (!isFields(eventData)) return eventData;
  let wire = eventData;
  for (const key of EVENT_DATA_TIMESTAMPS) {
    if (!types.isDate(eventData[key])) continue;
    if (wire === eventData) wire = { ...eventData }; // the caller's object is left unchanged
    wire[key] = Number(eventData[key]);
  }
  return wire;
}

/** A `Date` as epoch milliseconds; any other value unchanged (the service also accepts ISO 8601 text). */
export function toMillis(value: unknown): unknown {
  return types.isDate(value) ? Number(value) : value;
}

/**
 * Converts an entity (run, step, hook, wait) in place to the SDK's form: timestamps are `Date`s, and an absent field
 * is absent, never null.
 */
export function reviveEntity(entity: unknown): unknown {
  if (!isFields(entity)) return entity;
  for (const key in entity) {
    const value = entity[key];
    if (value === null) delete entity[key];
    else if (typeof value === 'number' && ENTITY_TIMESTAMPS.has(key)) entity[key] = new Date(value);
  }
  return entity;
}

/** The same for an event and its data. Nulls in the data stay, because they may be payload. */
export function reviveEvent(event: unknown): unknown {
  if (!isFields(event)) return event;
  reviveEntity(event);
  if (isFields(event['eventData'])) reviveTimestamps(event['eventData'], EVENT_DATA_TIMESTAMPS);
  return event;
}

function reviveTimestamps(fields: Fields, keys: Set<string>): void {
  for (const key in fields) {
    const value = fields[key];
    if (typeof value === 'number' && keys.has(key)) fields[key] = new Date(value);
  }
}

/** Whether a value is a plain object, and not bytes, a date, an array or a scalar. */
export function isFields(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false;
  if (Object.getPrototypeOf(value) === Object.prototype) return true;
  return !Array.isArray(value) && !types.isUint8Array(value) && !types.isDate(value);
}
