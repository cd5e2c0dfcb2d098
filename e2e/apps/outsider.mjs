// @ts-check
// A process that serves nothing. It starts one run with its own AbortSignal as the last argument, prints the run's
// id, aborts on SIGUSR2, and stays until SIGTERM. Arguments: workflow, the other arguments in JSON, and a reason if
// the signal is to be aborted from the start. It runs in the folder of an app, like server.mjs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const { start } = await import(join(process.cwd(), 'node_modules/workflow/dist/api.js'));
const { getWorld } = await import(join(process.cwd(), 'node_modules/workflow/dist/runtime.js'));
const [name, args, reason] = process.argv.slice(2);
const { workflows } = JSON.parse(readFileSync('.well-known/workflow/v1/manifest.json', 'utf8'));
const workflow = Object.assign({}, ...Object.values(workflows))[name];

const controller = new AbortController();
if (reason) controller.abort(reason);
process.once('SIGUSR2', () => controller.abort('from outside'));
const stay = setInterval(() => {}, 1000);
process.once('SIGTERM', async () => {
  clearInterval(stay);
  await (await getWorld()).close?.();
  process.exit(0);
});
const { runId } = await start(workflow, [...JSON.parse(args), controller.signal]);
console.log(runId);
