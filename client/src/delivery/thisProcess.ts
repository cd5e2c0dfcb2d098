import { randomUUID } from 'node:crypto';
import { PROCESS_HEADER } from '../address/probe.js';
import { processWide } from './processWide.js';

/** A name of this process, or of this thread of it, that no other has. */
export const processId = (): string => processWide('process', randomUUID);

/**
 * The answer to a request that asks whether it reached the process with an id; undefined for all others. It needs no
 * signature: it only tells the one who knows the id that it is here.
 */
export function answerToSearch(headers: Headers): Response | undefined {
  const wanted = headers.get(PROCESS_HEADER);
  if (wanted === null) return undefined;
  const here = wanted === processId();
  return Response.json({ here }, { headers: { 'x-world-redis-client': '1', ...(here && { [PROCESS_HEADER]: wanted }) } });
}
