import type { Config } from '../config.js';
import { WorkflowWorldError } from '../sdk/errors.js';
import { call, callOnce, serviceUrl } from '../transport/call.js';
import { connectionTo } from '../transport/connection.js';
import type { RedisWorld } from '../types.js';
import { listIn } from '../wire/answerShape.js';
import { encode } from '../wire/encoding.js';
import { pathSegment, withQuery } from '../wire/path.js';
import { reviveEntity } from '../wire/timestamps.js';

/** The run operations of v5 in addition to get and list. */
export type RunOperations = Pick<RedisWorld['runs'], 'getMany' | 'waitForTerminalStatus' | 'cancelMany' | 'experimentalSetAttributes'>;

/** The most ids in one call. */
const MOST_RUNS = 1000;

/** Builds the run operations. They do nothing until one is called. */
export function createRunOperations(config: () => Config): RunOperations {
  const post = (path: string, body: unknown) => call(config(), { method: 'POST', path, body: encode(body) });

  const snapshot = async (id: string, resolveData: 'all' | 'none' | undefined) =>
    reviveEntity(await call(config(), { method: 'GET', path: withQuery(`/v1/runs/${pathSegment(id)}`, { resolveData }) }));

  return {
    async getMany(ids, params) {
      // Each id is sent once. The service leaves out runs that do not fit into its answer, and they are requested
      // again.
      const runIds = [...new Set(ids)];
      const runs = new Map<string, any>();
      while (runs.size < runIds.length) {
        const rest = runIds.slice(runs.size, runs.size + MOST_RUNS);
        const answer = await post('/v1/runs/get', { runIds: rest, resolveData: params?.resolveData, partial: true });
        const data = listIn(answer, 'data', serviceUrl(config(), '/v1/runs/get'));
        if (data.length === 0) throw new WorkflowWorldError('The service answered a call for runs with none of them');
        data.forEach((run, i) => runs.set(rest[i] as string, run === null ? null : reviveEntity(run)));
      }
      return ids.map((id) => runs.get(id));
    },

    async waitForTerminalStatus(id, params = {}) {
      const { timeoutMs = 0, signal, resolveData } = params;
      if (timeoutMs <= 0 || signal?.aborted) return snapshot(id, resolveData);
      const settings = config();
      const { closing } = connectionTo(settings.url);
      const path = withQuery(`/v1/runs/${pathSegment(id)}/wait`, { timeoutMs: Math.ceil(timeoutMs), resolveData });
      try {
        return reviveEntity(await callOnce(settings, { method: 'GET', path, holdMs: timeoutMs, signal }));
      } catch (error) {
        // After close(), a snapshot would open the connection again.
        if (closing.signal.aborted) throw error;
        // The wait was interrupted, or cancelled by the caller: both return the run in its current state. If the run
        // does not exist, that call reports it again.
        return snapshot(id, resolveData);
      }
    },

    async cancelMany({ runIds, cancelReason }) {
      const different = [...new Set(runIds)];
      const answer = (await post('/v1/runs/cancel', { runIds: different, cancelReason })) as { results: unknown[] };
      if (different.length === runIds.length) return answer;
      const results = new Map(answer.results.map((result, i) => [different[i], result]));
      return { ...answer, results: runIds.map((id) => results.get(id)) };
    },

    async experimentalSetAttributes(runId, changes, options) {
      const body = { changes, allowReservedAttributes: options?.allowReservedAttributes };
      const answer = await post(`/v1/runs/${pathSegment(runId)}/attributes`, body);
      return { attributes: (answer as { attributes: Record<string, string> }).attributes };
    },
  };
}
