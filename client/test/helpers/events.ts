/** Events as each SDK sends them (contract §2.5). */
import { type Spec, sdkOf } from './sdk.js';

export interface Event {
  eventType: string;
  specVersion: number;
  correlationId?: string;
  eventData?: Record<string, unknown>;
}

export interface About {
  /** The step, hook or wait. */
  id: string;
  token?: string;
  retryAfter?: Date;
  tokenRetentionUntil?: Date;
}

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const RESUME_AT = new Date('2030-01-01T00:00:00.007Z');

/** Makes the event of a kind: its type, or one of the two that come in several forms. */
export function eventOf(kind: string, spec: Spec, about: About): Event {
  const eventType = kind.split(' ')[0] as string;
  const eventData = dataOf(kind, spec, about);
  const correlated = /^(step|hook|wait)_/.test(eventType) || kind === 'attr_set';
  const id = kind === 'attr_set' ? `attr_${about.id.slice(-26)}` : about.id;
  return { eventType, specVersion: spec, ...(correlated && { correlationId: id }), ...(eventData && { eventData }) };
}

function dataOf(kind: string, spec: Spec, about: About): Record<string, unknown> | undefined {
  const v4 = sdkOf(spec) === 'v4';
  const run = { deploymentId: 'dpl_1', workflowName: 'workflow//./a.ts//w', input: bytes('devlin'), executionContext: {} };
  const changes = [{ key: 'colour', value: 'blue' }];
  switch (kind) {
    case 'run_created':
    case 'run_started with input':
      return run;
    case 'run_completed':
      return { output: bytes('devlout') };
    case 'run_failed':
      return { error: v4 ? { message: 'boom', stack: 'at w' } : bytes('devlboom'), errorCode: 'USER_ERROR' };
    case 'attr_set':
      return { changes, writer: { type: 'workflow' } };
    case 'attr_set by a step':
      return { changes, writer: { type: 'step', stepId: about.id, attempt: 1 } };
    case 'step_created':
      return { stepName: 's', workflowName: 'w', input: bytes('devlargs') };
    case 'step_started':
      return { stepName: 's', ...(!v4 && { workflowName: 'w', ownerMessageId: 'msg_1' }) };
    case 'step_started with input':
      return { stepName: 's', workflowName: 'w', input: bytes('devlargs'), ownerMessageId: 'msg_1' };
    case 'step_completed':
      return { stepName: 's', workflowName: 'w', result: bytes('devlresult') };
    case 'step_failed':
      return { stepName: 's', ...(v4 ? { error: 'bad', stack: 'at s' } : { error: bytes('devlbad') }) };
    case 'step_retrying':
      return { stepName: 's', error: v4 ? 'again' : bytes('devlagain'), retryAfter: about.retryAfter };
    case 'hook_created':
      return { token: about.token, metadata: bytes('devlmeta'), isWebhook: false, tokenRetentionUntil: about.tokenRetentionUntil };
    case 'hook_received':
      return { token: about.token, payload: bytes('devlhello') };
    case 'hook_disposed':
      return { token: about.token };
    case 'hook_conflict':
      return { token: about.token };
    case 'wait_created':
    case 'wait_completed':
      return { resumeAt: RESUME_AT };
    default:
      return undefined;
  }
}
