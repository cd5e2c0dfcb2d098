/** Options of a list. */
export interface Pagination {
  limit?: number;
  cursor?: string;
  sortOrder?: 'asc' | 'desc';
}

/** `none` leaves the payloads out of the answer. */
export type ResolveData = 'all' | 'none';

/** One page of a list. `cursor` is the position of its last item, also when there is no more. */
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

/** What a queue handler is told about a message. */
export interface MessageMeta {
  /** 1 at the first delivery. */
  attempt: number;
  queueName: any;
  /** The same at every delivery of the message. */
  messageId: any;
}

/** A queue handler; `timeoutSeconds` asks for the same message again after that time. */
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

/** A stream's state; `tailIndex` is -1 when it is empty. */
export interface StreamInfo {
  tailIndex: number;
  done: boolean;
}

/**
 * A World of the Workflow SDK. It fits the `World` type of the SDK that loads it; entities are `any` here so that
 * one build fits every version and no type of the SDK has to be installed. Every member is an own property that
 * needs no `this`, so a World can be spread and taken apart.
 */
export interface RedisWorld {
  specVersion: number;
  streamFlushIntervalMs: number;
  start(): Promise<void>;
  close(): Promise<void>;
  getDeploymentId(): Promise<string>;
  queue(queueName: string, message: unknown, options?: QueueOptions): Promise<{ messageId: any }>;
  createQueueHandler(prefix: string, handler: MessageHandler): (request: Request) => Promise<Response>;
  runs: {
    get(id: string, params?: { resolveData?: ResolveData }): Promise<any>;
    list(params?: {
      workflowName?: string;
      status?: string | string[];
      pagination?: Pagination;
      resolveData?: ResolveData;
    }): Promise<Page>;
  };
  steps: {
    get(runId: string | undefined, stepId: string, params?: { resolveData?: ResolveData }): Promise<any>;
    list(params: { runId: string; pagination?: Pagination; resolveData?: ResolveData }): Promise<Page>;
  };
  events: {
    create(runId: string | null, event: any, params?: any): Promise<any>;
    get(runId: string, eventId: string, params?: { resolveData?: ResolveData }): Promise<any>;
    list(params: { runId: string; pagination?: Pagination; resolveData?: ResolveData }): Promise<Page>;
    listByCorrelationId(params: {
      correlationId: string;
      runId?: string;
      pagination?: Pagination;
      resolveData?: ResolveData;
    }): Promise<Page>;
  };
  hooks: {
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
  /** The stream operations as v5 of the SDK calls them. */
  streams: {
    write(runId: string, name: string, chunk: string | Uint8Array): Promise<void>;
    writeMulti(runId: string, name: string, chunks: (string | Uint8Array)[]): Promise<void>;
    close(runId: string, name: string): Promise<void>;
    get(runId: string, name: string, startIndex?: number): Promise<ReadableStream<Uint8Array>>;
    list(runId: string): Promise<string[]>;
    getChunks(runId: string, name: string, options?: GetChunksOptions): Promise<ChunkPage>;
    getInfo(runId: string, name: string): Promise<StreamInfo>;
  };
}
