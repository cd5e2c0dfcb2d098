import { processWide } from './processWide.js';

/** Further ones are not noted; a process has a few Worlds. */
const MOST = 1000;

const announced = () => processWide('deployments', () => new Set<string>());

/** Notes a deployment that this process announces to a service, by `start()` or with a message. */
export function noteDeployment(deploymentId: string): void {
  const all = announced();
  if (all.size < MOST) all.add(deploymentId);
}

/** Whether this process has announced a deployment: a World made with `createWorld({ deploymentId })` may have another than the one that handles deliveries. */
export function isAnnounced(deploymentId: string): boolean {
  return announced().has(deploymentId);
}
