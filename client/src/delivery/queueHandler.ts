import type { Config } from '../config.js';
import { readFastPaths } from '../fastPaths.js';
import { nameForHandler, parseQueueName } from '../sdk/queueName.js';
import type { MessageHandler } from '../types.js';
import { CBOR, decode, decodeJson } from '../wire/encoding.js';
import { overBudgetWait } from '../wire/overBudget.js';
import { tooLarge } from '../wire/tooLarge.js';
import { inDelivery } from './anticipated.js';
import { inTurn, type Reply } from './deliveries.js';
import { inStepDelivery } from './fanIn.js';
import { withGivenStreams } from './givenStreams.js';
import { headerText } from './headerText.js';
import { replayWait, withLogEnd } from './logEnd.js';
import { splitBody, withPreload } from './preload.js';
import { answerToProbe } from './probe.js';
import { bodyOf, noteArrivals } from './requestBody.js';
import { fastPathsForSdk } from './sdkVersion.js';
import { refusalOfDelivery, refusalOfHeaders, signingKeys, warnOfUnsigned } from './signature.js';
import { wrongTarget } from './target.js';
import { answerToSearch } from './thisProcess.js';

/**
 * Creates the app's route for messages of one kind (contract §5.4). It answers 200 with `{ok: true}`, or with
 * `{timeoutSeconds}` if the message is to be delivered again; 401 to a request that the service has not signed, if
 * there is a key; 421 to a message for another deployment; 400 to an invalid message, or one for another handler; 500
 * if the handler threw, and the service then delivers again.
 */
export function createQueueHandler(config: () => Config, prefix: string, handler: MessageHandler): (request: Request) => Promise<Response> {
  if (readFastPaths().has('request-body')) noteArrivals();
  return async (request) => {
    const toSearch = answerToSearch(request.headers);
    if (toSearch) return toSearch;
    const settings = config();
    const keys = signingKeys(settings);
    const stranger = keys.length > 0 ? refusalOfHeaders(request.headers, Date.now()) : undefined;
    if (stranger !== undefined) return refuseStranger(stranger);
    const probed = answerToProbe(request.headers, settings);
    if (typeof probed === 'string') return refuseStranger(probed);
    if (probed !== undefined) return Response.json(probed, { headers: OURS });

    const queueName = headerText(request.headers.get('x-vqs-queue-name'));
    const messageId = request.headers.get('x-vqs-message-id');
    const attempt = Number(request.headers.get('x-vqs-message-attempt') ?? Number.NaN);
    if (!queueName || !messageId || !Number.isInteger(attempt) || attempt < 1) {
      return refuse(400, 'Missing required headers');
    }
    const name = nameForHandler(queueName, prefix);
    if (name === undefined) return refuse(400, 'Unhandled queue');

    const fast = fastPathsForSdk(settings.fastPaths);
    let body: Uint8Array;
    try {
      body = await bodyOf(request, fast.has('request-body'));
    } catch (error) {
      return refuse(500, `The request body was gone before the handler could read it (${messageOf(error)}). Keep middleware and proxies away from /.well-known/workflow/.`);
    }
    if (keys.length > 0) {
      const kind = parseQueueName(queueName)?.kind === 'step' ? 'step' : 'flow';
      const forged = refusalOfDelivery(request.headers, kind, body, keys, Date.now());
      if (forged !== undefined) return refuseStranger(forged);
    } else {
      warnOfUnsigned(request.headers);
    }
    const elsewhere = wrongTarget(request.headers, queueName, settings);
    if (elsewhere !== undefined) return Response.json({ error: elsewhere, deployment: settings.deploymentId }, { status: 421, headers: OURS });
    if (body.byteLength === 0) return refuse(400, 'Missing request body');

    const parts = splitBody(request.headers, body);
    if (!parts) return refuse(400, 'The body is shorter than its preload');

    let message: unknown;
    try {
      message = decodeMessage(parts.message, request.headers.get('content-type') ?? '');
    } catch (error) {
      return refuse(400, `The message cannot be read: ${messageOf(error)}`);
    }

    const work = () => handler(message, { attempt, queueName: name, messageId });
    const inContext = () => (fast.has('anticipate') ? inDelivery(prefix, message, work) : work());
    const handle = () => withLogEnd(message, () => withGivenStreams(inContext));
    const { status, body: reply } = await inTurn(messageId, isStepOfItsOwn(queueName, message), (waited) => {
      const answer = () => replyOf(() => withPreload(settings, waited ? undefined : parts.preload, handle));
      return fast.has('fan-in') ? inStepDelivery(message, answer) : answer();
    });
    // Not Response.json(): @hono/node-server writes a Response with a text body directly, and reads any other as a
    // stream.
    return new Response(JSON.stringify(reply), { status, headers: { 'content-type': 'application/json', ...OURS } });
  };
}

async function replyOf(handle: () => Promise<unknown>): Promise<Reply> {
  try {
    const result = await handle();
    const timeoutSeconds = (result as { timeoutSeconds?: unknown } | null | undefined)?.timeoutSeconds;
    if (typeof timeoutSeconds === 'number' && Number.isFinite(timeoutSeconds)) {
      return { status: 200, body: { timeoutSeconds: Math.max(0, timeoutSeconds) } };
    }
    return { status: 200, body: { ok: true } };
  } catch (error) {
    // The service is overloaded at the moment. That is no failure of the message, which is delivered again. The same
    // holds if Redis lost events that the handler has seen: the next delivery reads the remaining ones.
    const wait = overBudgetWait(error) ?? replayWait(error);
    if (wait !== undefined) return { status: 200, body: { timeoutSeconds: wait } };
    // Not logged here: the SDK has done so, and the service records the answer. A value that is too large would fail
    // at every further delivery, and the SDK has no error for it, so the service fails the run.
    const refused = tooLarge(error);
    return { status: 500, body: { error: messageOf(error), ...(refused && { refused }) } };
  }
}

/** Whether a message is for one step: such a message is never merged with another, in v4 or v5. */
function isStepOfItsOwn(queueName: string, message: unknown): boolean {
  const stepId = (message as { stepId?: unknown } | null | undefined)?.stepId;
  return typeof stepId === 'string' || parseQueueName(queueName)?.kind === 'step';
}

function decodeMessage(body: Uint8Array, contentType: string): unknown {
  return contentType.startsWith(CBOR) ? decode(body) : decodeJson(Buffer.from(body).toString('utf8'));
}

/** Marks the answer as the app's, not a proxy's. */
const OURS = { 'x-world-redis-client': '1' };

function refuse(status: number, error: string): Response {
  return Response.json({ error }, { status, headers: OURS });
}

/** The header marks this 401 as the handler's, not a proxy's. */
function refuseStranger(reason: string): Response {
  return Response.json({ error: `Not from the service: ${reason}` }, { status: 401, headers: { 'www-authenticate': 'World-Signature', ...OURS } });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
