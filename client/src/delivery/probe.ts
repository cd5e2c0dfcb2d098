import type { Config } from '../config.js';
import { detectSdk } from '../sdk/sdk.js';
import { proofFor } from './identity.js';
import { ownWorkflows } from './ownWorkflows.js';
import { refusalOfDelivery, signingKeys } from './signature.js';

/** Marks a request by which the service asks who answers at an address. It carries no message. */
const HEADER = 'x-world-redis-probe';

/** The body of a probe, which its signature covers. */
const BODY = Buffer.from('{}');

/** What the service learns from a probe (docs/protocol.md). */
interface ProbeAnswer {
  deployment: string;
  sdk: string;
  /** By which the service recognises the process that registered. */
  proof: string;
  workflows?: string[];
}

/** The answer to a probe: undefined if the request is none, a text if the service has not signed it. */
export function answerToProbe(headers: Headers, config: Config): ProbeAnswer | string | undefined {
  if (!headers.has(HEADER)) return undefined;
  const keys = signingKeys(config);
  const forged = keys.length > 0 ? refusalOfDelivery(headers, 'flow', BODY, keys, Date.now()) : undefined;
  if (forged !== undefined) return forged;
  const workflows = ownWorkflows();
  return {
    deployment: config.deploymentId,
    sdk: detectSdk(),
    proof: proofFor(headers.get('x-vqs-message-id') ?? ''),
    ...(workflows && { workflows }),
  };
}
