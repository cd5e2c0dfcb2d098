// @ts-check
// All suites, in the order in which they run.
import { failover } from './failover.mjs';
import { http } from './http.mjs';
import { log } from './log.mjs';
import { million } from './million.mjs';
import { queue } from './queue.mjs';
import { storage } from './storage.mjs';
import { streams } from './streams.mjs';
import { workflowsV4, workflowsV5 } from './workflows.mjs';

export const suites = [queue, workflowsV4, workflowsV5, storage, http, streams, log, failover, million];
