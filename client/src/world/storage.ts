import type { Config } from '../config.js';
import { anticipated, keepAnticipated, noteRun } from '../delivery/anticipated.js';
import { readTogether } from '../delivery/fanIn.js';
import { noteBegin } from '../delivery/givenStreams.js';
import { beforeWrite, isRefusedCursor, type LogEnd, notePage, noteRefusedCursor } from '../delivery/logEnd.js';
import { spendPreload, takePreload } from '../delivery/preload.js';
import { noteStart } from '../delivery/sdkVersion.js';
import { beforeStepEvent, noteStepEvent } from '../delivery/stepWrites.js';
import { call, serviceUrl, type ThenCall } from '../transport/call.js';
import type { Page, Pagination, RedisWorld, ResolveData } from '../types.js';
import { listIn } from '../wire/answerShape.js';
import { encode } from '../wire/encoding.js';
import { pathSegment, withQuery } from '../wire/path.js';
import { eventDataToWire, type Fields, isFields, reviveEntity, reviveEvent, toMillis } from '../wire/timestamps.js';
import { failedForSize, parting, tooLarge } from '../wire/tooLarge.js';
import { createLegacyCalls, mayBeLegacy } from './legacy.js';
import { queueCall, queuedAs } from './queue.js';
import { createRunOperations } from './runs.js';

/** The parts of a World that store and list entities. */
export type Storage = Pick<RedisWorld, 'runs' | 'steps' | 'events' | 'hooks'>;

/** Builds the storage operations. They do nothing until one is called. */
export function createStorage(config: () => Config): Storage {
  const get = (path: string) => call(config(), { method: 'GET', path });

  const legacy = createLegacyCalls(config);

  /** Not async: it returns the promise of the call itself, which saves one promise per event. */
  const postEvent = (runId: string | null, event: Fields, params: Fields | undefined, logEnd: LogEnd | undefined): Promise<unknown> => {
    const settings = config();
    const path = runId ? `/v1/runs/${pathSegment(runId)}/events` : '/v1/events';
    const body = encode(createRequest(event, params, logEnd));
    return call(settings, { method: 'POST', path, body, then: thenCall(settings, runId, event), beforeTry: beforeStepEvent(runId, event) });
  };

  /** Writes an event. The returned event then counts as received by the SDK. */
  const writeEvent = async (runId: string | null, event: Fields, params: Fields | undefined): Promise<unknown> => {
    const write = beforeWrite(runId);
    try {
      const answer = postEvent(runId, event, params, write?.end);
      noteBegin(event, answer);
      const result = reviveResult(await answer);
      write?.answered(result);
      return result;
    } catch (error) {
      write?.failed(error);
      throw error;
    }
  };

  /** If many events are too large only together, they are sent in several calls, as the SDK itself splits long batches. */
  const createBatch = async (runId: string, requests: BatchRequest[], resolveData: ResolveData | undefined): Promise<unknown[]> => {
    const write = beforeWrite(runId);
    const body = encode({ events: requests, params: { resolveData, logEnd: write?.end } });
    try {
      const path = `/v1/runs/${pathSegment(runId)}/events/batch`;
      const answer = await call(config(), { method: 'POST', path, body, beforeTry: beforeStepEvents(runId, requests) });
      const results = listIn(answer, 'results', serviceUrl(config(), path)).map(reviveResult);
      for (const result of results) write?.answered(result);
      requests.forEach(({ event }, i) => noteStepEvent(runId, event, results[i], inputIn(requests, event)));
      return results;
    } catch (error) {
      write?.failed(error);
      const at = tooLarge(error) && parting(requests.map(({ event }) => event['correlationId']));
      if (at === undefined) throw error;
      const first = await createBatch(runId, requests.slice(0, at), resolveData);
      return [...first, ...(await createBatch(runId, requests.slice(at), resolveData))];
    }
  };

  const getOne = async (path: string, params: { resolveData?: ResolveData } | undefined, revive: Revive) =>
    revive(await get(withQuery(path, { resolveData: params?.resolveData })));

  const getPage = async (path: string, query: Query, revive: Revive): Promise<Page> => {
    const { pagination, ...filters } = query;
    const { limit, cursor, sortOrder } = pagination ?? {};
    const page = (await get(withQuery(path, { ...filters, limit, cursor, sortOrder }))) as Page;
    return { data: listIn(page, 'data', serviceUrl(config(), path)).map(revive), cursor: page.cursor ?? null, hasMore: page.hasMore };
  };

  return {
    runs: {
      get: async (id, params) => getOne(`/v1/runs/${pathSegment(id)}`, params, reviveEntity),
      list: async (params = {}) => {
        const { workflowName, status, pagination, resolveData } = params;
        return getPage('/v1/runs', { workflowName, status, pagination, resolveData }, reviveEntity);
      },
      ...createRunOperations(config),
    },
    steps: {
      get: async (runId, stepId, params) => {
        const parent = runId === undefined ? '/v1' : `/v1/runs/${pathSegment(runId)}`;
        return getOne(`${parent}/steps/${pathSegment(stepId)}`, params, reviveEntity);
      },
      list: async ({ runId, pagination, resolveData }) => getPage(`/v1/runs/${pathSegment(runId)}/steps`, { pagination, resolveData }, reviveEntity),
    },
    events: {
      create: async (runId, event, params) => {
        const preloaded = takePreload(config, runId, () => createRequest(event as Fields, params as Fields | undefined));
        if (preloaded !== undefined) {
          const result = reviveResult(preloaded);
          beforeWrite(runId)?.answered(result);
          noteRun(runId, event as Fields, result);
          return result;
        }
        if (runId && mayBeLegacy(event as Fields, params as Fields | undefined)) {
          try {
            return await legacy.createEvent(runId, event as Fields, params as { resolveData?: ResolveData } | undefined);
          } catch (error) {
            // Not a run of that time, or not an existing one. No SDK gets here, since later ones set their spec
            // version.
            const { status } = error as { status?: number };
            if (status !== 409 && status !== 404) throw error;
          }
        }
        try {
          noteStart(event as Fields);
          const result = await writeEvent(runId, event as Fields, params as Fields | undefined);
          noteRun(runId, event as Fields, result);
          noteStepEvent(runId, event as Fields, result);
          return result;
        } catch (error) {
          const refused = tooLarge(error);
          if (!refused || event.eventType !== 'step_completed') throw error;
          return await writeEvent(runId, failedForSize(event as Fields, refused), params as Fields | undefined);
        }
      },
      createBatch: async (runId, events, params) => {
        spendPreload();
        const requests = events.map(({ event, occurredAt }) => ({
          event: eventToWire(event as Fields),
          occurredAt: toMillis(occurredAt),
        }));
        return { results: await createBatch(runId, requests, params?.resolveData) };
      },
      get: async (runId, eventId, params) => getOne(`/v1/runs/${pathSegment(runId)}/events/${pathSegment(eventId)}`, params, reviveEvent),
      // Without a limit the whole log is requested; the service sends a long one in several pages.
      list: async ({ runId, pagination, resolveData }) => {
        const path = `/v1/runs/${pathSegment(runId)}/events`;
        const { limit, cursor, sortOrder } = pagination ?? {};
        const readAll = async () => {
          const page = await getPage(path, { pagination, resolveData }, reviveEvent);
          while (page.hasMore && page.cursor !== null && limit === undefined) {
            const next = await getPage(path, { pagination: { ...pagination, cursor: page.cursor }, resolveData }, reviveEvent);
            page.data.push(...next.data);
            page.cursor = next.cursor ?? page.cursor;
            page.hasMore = next.hasMore;
          }
          return page;
        };
        const read = () =>
          readAll().catch((error: unknown) => {
            if (cursor !== undefined) noteRefusedCursor(runId, error);
            else if (limit === undefined && isRefusedCursor(error)) return readAll(); // the listed events are gone by now
            throw error;
          });
        const fromStart = limit === undefined && cursor === undefined && sortOrder === 'asc';
        const page = await (fromStart && resolveData !== 'none' ? readTogether(runId, read) : read());
        if (sortOrder !== 'desc') notePage(runId, page.data, fromStart);
        return page;
      },
      listByCorrelationId: async ({ correlationId, runId, pagination, resolveData }) => getPage('/v1/events', { correlationId, runId, pagination, resolveData }, reviveEvent),
    },
    hooks: {
      get: async (hookId, params) => getOne(`/v1/hooks/${pathSegment(hookId)}`, params, reviveEntity),
      getByToken: async (token, params) => getOne(withQuery('/v1/hooks/by-token', { token, resolveData: params?.resolveData }), undefined, reviveEntity),
      list: async ({ runId, pagination, resolveData } = {}) => getPage('/v1/hooks', { runId, pagination, resolveData }, reviveEntity),
    },
  };
}

/** The message that the SDK will queue when this event is written. */
function thenCall(settings: Config, runId: string | null, event: Fields): ThenCall | undefined {
  const enqueued = anticipated(runId, event);
  return (
    enqueued && {
      call: queueCall(settings, enqueued),
      answered: (value) => keepAnticipated(settings, enqueued, queuedAs(value)),
    }
  );
}

/** A batch is refused as a whole if it completes a step that must not be completed. */
function beforeStepEvents(runId: string, requests: BatchRequest[]): (() => Promise<void> | undefined) | undefined {
  const checks = requests.flatMap(({ event }) => beforeStepEvent(runId, event) ?? []);
  if (checks.length === 0) return undefined;
  return () => {
    const holds = checks.flatMap((check) => check() ?? []);
    return holds.length === 0 ? undefined : Promise.all(holds).then(() => undefined);
  };
}

/** The input of a step that is created and started in the same batch. */
function inputIn(requests: BatchRequest[], { eventType, correlationId }: Fields): unknown {
  if (eventType !== 'step_started') return undefined;
  const created = requests.find(({ event }) => event['eventType'] === 'step_created' && event['correlationId'] === correlationId);
  const data = created?.event['eventData'];
  return isFields(data) ? data['input'] : undefined;
}

type Revive = (value: unknown) => unknown;

interface BatchRequest {
  event: Fields;
  occurredAt: unknown;
}

interface Query {
  pagination: Pagination | undefined;
  resolveData: ResolveData | undefined;
  workflowName?: string | undefined;
  status?: string | string[] | undefined;
  correlationId?: string;
  runId?: string | undefined;
}

/**
 * The body of events.create. A resume id is a parameter in the SDK, but part of the event in the service. The SDK
 * passes other parameters, too, including functions and trace ids, so those that the service knows are selected by
 * name.
 */
function createRequest(event: Fields, params: Fields = {}, logEnd?: LogEnd): Fields {
  const { resolveData, v1Compat, eventCount, sinceCursor, skipPreload, preloadEvents, resumePayloadDigest, occurredAt, resumeId } = params;
  return {
    event: eventToWire(event, resumeId),
    params: {
      resolveData,
      v1Compat,
      eventCount,
      sinceCursor,
      skipPreload,
      preloadEvents,
      resumePayloadDigest,
      occurredAt: toMillis(occurredAt),
      logEnd,
    },
  };
}

function eventToWire({ eventType, correlationId, specVersion, eventData }: Fields, resumeId?: unknown): Fields {
  return { eventType, correlationId, specVersion, eventData: eventDataToWire(eventData), resumeId };
}

const ENTITIES = ['run', 'step', 'hook', 'wait'];

/** The answer of events.create in the SDK's form. */
function reviveResult(result: unknown): unknown {
  if (!isFields(result)) return result;
  for (const key of ENTITIES) reviveEntity(result[key]);
  reviveEvent(result['event']);
  if (Array.isArray(result['events'])) result['events'].forEach(reviveEvent);
  for (const key in result) {
    if (result[key] === null && key !== 'cursor') delete result[key];
  }
  return result;
}
