import type { Config } from '../config.js';
import { parseQueueName } from '../sdk/queueName.js';
import { headerText } from './headerText.js';
import { isAnnounced } from './ownDeployments.js';
import { ownWorkflows } from './ownWorkflows.js';

/** The deployment that the target has registered as: not the message's, which may go to another one (policy `latest`). */
const DEPLOYMENT = 'x-world-redis-deployment';
/** Says that the app at this address has registered with the workflow of the message. */
const WORKFLOW = 'x-world-redis-workflow';

/**
 * Why a delivery is for another app, which has registered the address of this one; undefined if it may be for this
 * app. An older service does not say for which app a delivery is.
 */
export function wrongTarget(headers: Headers, queueName: string, { deploymentId }: Pick<Config, 'deploymentId'>): string | undefined {
  const wanted = headerText(headers.get(DEPLOYMENT));
  if (wanted !== null && wanted !== deploymentId && !isAnnounced(wanted)) {
    return `the delivery is for deployment "${wanted}", which has registered this address, too; give each app its own WORKFLOW_BASE_URL`;
  }
  const name = headers.has(WORKFLOW) ? parseQueueName(queueName) : undefined;
  // Two apps with the default deployment are told apart by their workflows.
  if (name?.kind !== 'workflow' || ownWorkflows()?.includes(name.rest) !== false) return undefined;
  return `this app has no workflow "${name.rest}", and another app that has it has registered this address, too; give each app its own WORKFLOW_BASE_URL, and its own WORKFLOW_DEPLOYMENT_ID`;
}
