/** Options of a list. */
export interface Pagination {
  limit?: number;
  cursor?: string;
  sortOrder?: 'asc' | 'desc';
}

/** `none` leaves the payloads out of the answer. */
export type ResolveData = 'all' | 'none';

/** One page of a list. `cursor` is the position of its last item, even if there are no more. */
export interface Page {
  data: any[];
  cursor: string | null;
  hasMore: boolean;
}

/** Options of {@link RedisWorld.queue}. */
export interface QueueOptions {
  deploymentId?: string;
  idempotencyKey?: string;
  headers?: Record<string, string>;
  delaySeconds?: number;
  specVersion?: number;
}

/** The second argument of a queue handler. */
export interface MessageMeta {
  /** 1 at the first delivery. */
  attempt: number;
  queueName: any;
  /** The same at every delivery of the message. */
  messageId: any;
}

/** A queue handler; `timeoutSeconds` requests the same message again after that time. */
export type MessageHandler = (message: unknown, meta: MessageMeta) => Promise<any>;

/** Options of a snapshot of chunks. */
export interface GetChunksOptions {
  limit?: number;
  cursor?: string;
}

/** A snapshot of stored chunks; `done` says whether the stream's end is recorded. */
export interface ChunkPage {
  data: { index: number; data: Uint8Array }[];
  cursor: string | null;
  hasMore: boolean;
  done: boolean;
}

/** One writer of a stream; `chunkSeq` is the writer's number of the first chunk, from 0. */
export interface StreamWriteSession {
  write(chunkSeq: number, chunks: (string | Uint8Array)[]): Promise<void>;
  close(): Promise<void>;
}

/** A stream's state; `tailIndex` is -1 if it is empty. */
export interface StreamInfo {
  tailIndex: number;
  done: boolean;
}

/** What the answer of a call contains. */
interface Resolve {
  resolveData?: ResolveData;
}

/**
 * The calls of SDKs from before event sourcing, where the caller changes the entities itself. A World has them only
 * in a process with such an SDK, because tools of later SDKs would use them.
 */
export interface LegacyCalls {
  runs: {
    create(run: { deploymentId: string; workflowName: string; input: any[]; executionContext?: any }): Promise<any>;
    update(id: string, change: { status?: string; output?: any; error?: any; executionContext?: any }): Promise<any>;
    cancel(id: string, params?: Resolve): Promise<any>;
    pause(id: string, params?: Resolve): Promise<any>;
    resume(id: string, params?: Resolve): Promise<any>;
  };
  steps: {
    create(runId: string, step: { stepId: string; stepName: string; input: any[] }): Promise<any>;
    update(runId: string, stepId: string, change: { status?: string; attempt?: number; output?: any; error?: any; retryAfter?: Date }): Promise<any>;
  };
  hooks: {
    create(runId: string, hook: { hookId: string; token: string; metadata?: any }, params?: Resolve): Promise<any>;
    dispose(hookId: string, params?: Resolve): Promise<any>;
  };
  /** events.create of those SDKs: it returns the event itself. */
  createEvent(runId: string, event: { eventType?: unknown; correlationId?: unknown; eventData?: unknown }, params?: Resolve): Promise<any>;
}

/**
 * A World of the Workflow SDK. It fits the `World` type of the SDK that loads it. Entities are `any` here, so that
 * one build fits every version and no type of the SDK has to be installed. Every member is an own property that needs
 * no `this`, so a World can be spread and destructured.
 */
export interface RedisWorld {
  specVersion: number;
  /** What v5 may rely on. */
  capabilities: { hookRetention: { active: boolean }; hookResumeDedup: boolean };
  streamFlushIntervalMs: number;
  start(): Promise<void>;
  close(): Promise<void>;
  getDeploymentId(): Promise<string>;
  queue(queueName: string, message: unknown, options?: QueueOptions): Promise<{ messageId: any }>;
  createQueueHandler(prefix: string, handler: MessageHandler): (request: Request) => Promise<Response>;
  runs: Partial<LegacyCalls['runs']> & {
    get(id: string, params?: { resolveData?: ResolveData }): Promise<any>;
    list(params?: { workflowName?: string; status?: string | string[]; pagination?: Pagination; resolveData?: ResolveData }): Promise<Page>;
    /** Several runs in the order of their ids, null for those that do not exist. */
    getMany(ids: readonly string[], params?: { resolveData?: ResolveData }): Promise<any[]>;
    /** The run when it has ended, or in its current state after `timeoutMs` (default 0) or when the signal fires. */
    waitForTerminalStatus(id: string, params?: { timeoutMs?: number; signal?: AbortSignal; resolveData?: ResolveData }): Promise<any>;
    /** Cancels up to 500 runs and returns the outcome of each. */
    cancelMany(request: { runIds: string[]; cancelReason?: string }): Promise<any>;
    /** Sets attributes, or deletes those whose value is null; returns all attributes of the run. */
    experimentalSetAttributes(
      runId: string,
      changes: { key: string; value: string | null }[],
      options?: { allowReservedAttributes?: boolean },
    ): Promise<{ attributes: Record<string, string> }>;
  };
  steps: Partial<LegacyCalls['steps']> & {
    get(runId: string | undefined, stepId: string, params?: { resolveData?: ResolveData }): Promise<any>;
    list(params: { runId: string; pagination?: Pagination; resolveData?: ResolveData }): Promise<Page>;
  };
  events: {
    /**
     * Returns `{event, run?, step?, …}`. An event without a spec version on a run of {@link LegacyCalls} is appended
     * unchanged, and the answer is the event itself.
     */
    create(runId: string | null, event: any, params?: any): Promise<any>;
    /** Several events in one write, each with its own result, in order. */
    createBatch(runId: string, events: readonly { event: any; occurredAt?: Date }[], params?: { resolveData?: ResolveData }): Promise<{ results: any[] }>;
    get(runId: string, eventId: string, params?: { resolveData?: ResolveData }): Promise<any>;
    list(params: { runId: string; pagination?: Pagination; resolveData?: ResolveData }): Promise<Page>;
    listByCorrelationId(params: { correlationId: string; runId?: string; pagination?: Pagination; resolveData?: ResolveData }): Promise<Page>;
  };
  hooks: Partial<LegacyCalls['hooks']> & {
    get(hookId: string, params?: { resolveData?: ResolveData }): Promise<any>;
    getByToken(token: string, params?: { resolveData?: ResolveData }): Promise<any>;
    list(params?: { runId?: string; pagination?: Pagination; resolveData?: ResolveData }): Promise<Page>;
  };
  writeToStream(name: string, runId: string | Promise<string>, chunk: string | Uint8Array): Promise<void>;
  writeToStreamMulti(name: string, runId: string | Promise<string>, chunks: (string | Uint8Array)[]): Promise<void>;
  closeStream(name: string, runId: string | Promise<string>): Promise<void>;
  readFromStream(name: string, startIndex?: number): Promise<ReadableStream<Uint8Array>>;
  listStreamsByRunId(runId: string): Promise<string[]>;
  getStreamChunks(name: string, runId: string, options?: GetChunksOptions): Promise<ChunkPage>;
  getStreamInfo(name: string, runId: string): Promise<StreamInfo>;
  /** The stream operations as SDK v5 calls them. */
  streams: {
    write(runId: string, name: string, chunk: string | Uint8Array): Promise<void>;
    writeMulti(runId: string, name: string, chunks: (string | Uint8Array)[]): Promise<void>;
    close(runId: string, name: string): Promise<void>;
    get(runId: string, name: string, startIndex?: number): Promise<ReadableStream<Uint8Array>>;
    list(runId: string): Promise<string[]>;
    getChunks(runId: string, name: string, options?: GetChunksOptions): Promise<ChunkPage>;
    getInfo(runId: string, name: string): Promise<StreamInfo>;
    /** A writer that numbers its chunks, so that none is stored twice. */
    createWriteSession(runId: string, name: string, options: { writerId: string }): StreamWriteSession;
  };
}
