import { createHmac, randomBytes } from 'node:crypto';
import { ownWorkflows } from './ownWorkflows.js';
import { processWide } from './processWide.js';

/** By what the service recognises the process that registers when something answers at its address. */
export interface Identity {
  /** A random text of this process, never sent in an answer. */
  nonce: string;
  /** The names of its workflows; absent if unknown. */
  workflows?: string[];
}

/** Must equal the service's label. */
const PROOF_LABEL = 'world-redis probe v1';

export function identity(): Identity {
  const workflows = ownWorkflows();
  return { nonce: nonce(), ...(workflows && { workflows }) };
}

/** What only the process that registered with its nonce can answer to a probe. */
export function proofFor(probe: string): string {
  return createHmac('sha256', nonce()).update(`${PROOF_LABEL}\n${probe}`).digest('hex');
}

function nonce(): string {
  return processWide('nonce', () => ({ text: randomBytes(16).toString('hex') })).text;
}
