// @ts-check
// A World's SDK app: bench/apps/server.mjs in the folder of one SDK version, controlled through its small HTTP API.
import { Child, freePort } from '../../e2e/lib/process.mjs';
import { until } from '../../e2e/lib/wait.mjs';
import { nodeFlags, patience } from './job.mjs';
import { appFolder, appServer, checkInstalled, nodeOf } from './paths.mjs';
import { targetOf, worlds } from './worlds.mjs';

/** Starts the app of `sdk` on a World at its place, passes it to `use`, and ends it. */
export async function withApp(sdk, world, place, use) {
  checkInstalled(sdk, worlds[world].package);
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const child = new Child('app', nodeOf(sdk), [...nodeFlags(), appServer], {
    cwd: appFolder(sdk),
    env: { ...place.env, PORT: String(port), WORKFLOW_TARGET_WORLD: targetOf(world), WORKFLOW_BASE_URL: url, WORKFLOW_LOG_LEVEL: 'error' },
  });
  try {
    await until('the app to be ready', async () => (await fetch(`${url}/ready`)).ok, { child });
    return await use({ measure: (name, settings, withinMs) => post(child, `${url}/measure/${name}`, settings, withinMs) });
  } finally {
    await child.end('SIGTERM', 5_000);
  }
}

async function post(child, url, settings, withinMs = patience.ms) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(settings),
    signal: AbortSignal.timeout(withinMs),
  }).catch((error) => {
    throw child.alive ? error : new Error(`the app ended: ${child.tail.split('\n').slice(-3).join(' ')}`);
  });
  const answer = /** @type {any} */ (await response.json());
  if (!response.ok) throw new Error(answer.error);
  return answer;
}
