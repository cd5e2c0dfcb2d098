import type { Config } from '../config.js';
import { asApiError } from '../sdk/legacyError.js';
import { isLegacySdk } from '../sdk/sdk.js';
import { call } from '../transport/call.js';
import type { LegacyCalls, RedisWorld } from '../types.js';
import { encode } from '../wire/encoding.js';
import { pathSegment } from '../wire/path.js';
import { eventDataToWire, type Fields, reviveEntity, reviveEvent, toMillis } from '../wire/timestamps.js';

/**
 * The calls of SDKs from before event sourcing (contract §9). There the caller changes the entities itself, and
 * events are only a log. Payloads are plain JSON values. Refusals are that SDK's one error class.
 */
export function createLegacyCalls(config: () => Config): LegacyCalls {
  const post = async (path: string, body: Fields = {}) => {
    try {
      return await call(config(), { method: 'POST', path: `/v1/legacy${path}`, body: encode(body) });
    } catch (error) {
      throw asApiError(error);
    }
  };
  const run = (id: string) => `/runs/${pathSegment(id)}`;
  const postRun = async (path: string, body?: Fields) => reviveEntity(await post(path, body));

  return {
    runs: {
      create: ({ deploymentId, workflowName, input, executionContext }) => postRun('/runs', { deploymentId, workflowName, input, executionContext }),
      update: (id, { status, output, error, executionContext }) => postRun(run(id), { status, output, error, executionContext }),
      cancel: (id, params) => postRun(`${run(id)}/cancel`, { resolveData: params?.resolveData }),
      pause: (id, params) => postRun(`${run(id)}/pause`, { resolveData: params?.resolveData }),
      resume: (id, params) => postRun(`${run(id)}/resume`, { resolveData: params?.resolveData }),
    },
    steps: {
      create: async (runId, { stepId, stepName, input }) => reviveEntity(await post(`${run(runId)}/steps`, { stepId, stepName, input })),
      update: async (runId, stepId, { status, attempt, output, error, retryAfter }) =>
        reviveEntity(
          await post(`${run(runId)}/steps/${pathSegment(stepId)}`, {
            status,
            attempt,
            output,
            error,
            retryAfter: toMillis(retryAfter),
          }),
        ),
    },
    createEvent: async (runId, { eventType, correlationId, eventData }, params) =>
      reviveEvent(
        await post(`${run(runId)}/events`, {
          eventType,
          correlationId,
          eventData: eventDataToWire(eventData),
          resolveData: params?.resolveData,
        }),
      ),
    hooks: {
      create: async (runId, { hookId, token, metadata }, params) => reviveEntity(await post(`${run(runId)}/hooks`, { hookId, token, metadata, resolveData: params?.resolveData })),
      dispose: async (hookId, params) => reviveEntity(await post(`/hooks/${pathSegment(hookId)}/dispose`, { resolveData: params?.resolveData })),
    },
  };
}

const LEGACY_MEMBERS = ['runs', 'steps', 'hooks'] as const;

/**
 * Adds the calls to a World only in a process with such an SDK. The SDK is not known yet when the World is created,
 * so it is checked at each access to one of the members.
 */
export function showLegacyCalls(world: RedisWorld, calls: LegacyCalls): RedisWorld {
  for (const member of LEGACY_MEMBERS) {
    const usual = world[member];
    const legacy = { ...calls[member], ...usual };
    Object.defineProperty(world, member, {
      enumerable: true,
      configurable: true,
      get: () => (isLegacySdk() ? legacy : usual),
      // A World is a plain object whose members can be replaced.
      set: (value: unknown) => Object.defineProperty(world, member, { value, enumerable: true, configurable: true, writable: true }),
    });
  }
  return world;
}

/** The event types that such an SDK writes. */
const LEGACY_TYPES = new Set([
  'workflow_started',
  'workflow_completed',
  'workflow_failed',
  'step_started',
  'step_completed',
  'step_failed',
  'step_retrying',
  'hook_created',
  'hook_received',
  'hook_disposed',
  'wait_created',
  'wait_completed',
]);

/**
 * Whether a call of events.create may come from such an SDK. It knows no spec versions, while later SDKs set theirs
 * in every event, and their tools pass `v1Compat` when they access a run of that time.
 */
export function mayBeLegacy(event: Fields, params: Fields | undefined): boolean {
  return event['specVersion'] === undefined && !params?.['v1Compat'] && LEGACY_TYPES.has(String(event['eventType']));
}
