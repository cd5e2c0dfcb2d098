import type { World } from '@workflow/world' with { 'resolution-mode': 'import' };
import { configReader, type WorldOptions } from '../config.js';
import { createQueueHandler } from '../delivery/queueHandler.js';
import { noteHandler, startRegistering, unregister } from '../delivery/registration.js';
import { readFastPaths } from '../fastPaths.js';
import { specVersionForSdk } from '../sdk/sdk.js';
import { closeConnection } from '../transport/connection.js';
import type { RedisWorld } from '../types.js';
import { createLegacyCalls, showLegacyCalls } from './legacy.js';
import { createQueue } from './queue.js';
import { createStorage } from './storage.js';
import { withStreamErrors } from './streamError.js';
import { createStreams } from './streams.js';

/**
 * Creates a World backed by a world-redis service. It does no work, opens no socket and sets no timer: settings are
 * read, and the connection is made, when a member is first called. Only an unknown fast path is refused here.
 */
export function createWorld(options: WorldOptions = {}): RedisWorld {
  readFastPaths();
  const config = configReader(options);
  const streams = createStreams(config);

  const world = {
    specVersion: specVersionForSdk(),
    capabilities: { hookRetention: { active: true }, hookResumeDedup: true },
    // The SDK makes a writer wait for its flush before it accepts the next chunk, so an interval would never collect
    // anything and only delay every chunk. One append takes a fraction of a millisecond.
    streamFlushIntervalMs: 0,

    start: () => startRegistering(config),
    close: async () => {
      const settings = config();
      await unregister(settings);
      await closeConnection(settings.url);
    },

    getDeploymentId: async () => config().deploymentId,
    queue: createQueue(config),
    createQueueHandler: (prefix, handler) => {
      noteHandler(prefix);
      return createQueueHandler(config, prefix, handler);
    },

    ...createStorage(config),

    writeToStream: (name, runId, chunk) => streams.write(runId, name, chunk),
    writeToStreamMulti: (name, runId, chunks) => streams.writeMulti(runId, name, chunks),
    closeStream: (name, runId) => streams.close(runId, name),
    readFromStream: (name, startIndex) => streams.read(name, startIndex),
    listStreamsByRunId: (runId) => streams.list(runId),
    getStreamChunks: (name, _runId, chunkOptions) => streams.getChunks(name, chunkOptions),
    getStreamInfo: (name) => streams.getInfo(name),

    streams: {
      ...withStreamErrors<Omit<RedisWorld['streams'], 'createWriteSession'>>({
        write: (runId, name, chunk) => streams.write(runId, name, chunk),
        writeMulti: (runId, name, chunks) => streams.writeMulti(runId, name, chunks),
        close: (runId, name) => streams.close(runId, name),
        get: (_runId, name, startIndex) => streams.read(name, startIndex),
        list: (runId) => streams.list(runId),
        getChunks: (_runId, name, chunkOptions) => streams.getChunks(name, chunkOptions),
        getInfo: (_runId, name) => streams.getInfo(name),
      }),
      createWriteSession: (runId, name, sessionOptions) => withStreamErrors(streams.createWriteSession(runId, name, sessionOptions)),
    },
  } satisfies RedisWorld & World;
  return showLegacyCalls(world, createLegacyCalls(config));
}
