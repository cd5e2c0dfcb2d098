// @ts-check
// A separate process that starts one run and holds the AbortSignal that it passed to it (e2e/apps/outsider.mjs).
import { appFolder, nodeOf, outsiderScript, world } from './paths.mjs';
import { Child } from './process.mjs';
import { until } from './wait.mjs';

export class Outsider {
  #child;
  runId = '';

  /** Starts the process and waits for its run; it is stopped with the test `t`. With a `reason`, its signal is already aborted. */
  static async start(t, service, sdk, workflow, args, reason) {
    const outsider = new Outsider();
    outsider.#child = new Child('outsider', nodeOf(sdk), [outsiderScript, workflow, JSON.stringify(args), ...(reason ? [reason] : [])], {
      cwd: appFolder(sdk),
      env: { ...service.clientEnv, WORKFLOW_TARGET_WORLD: world },
    });
    t.after(() => outsider.#child.end('SIGTERM'));
    outsider.runId = await until('the outsider to start its run', () => outsider.#child.stdout.match(/wrun_\w+/)?.[0], { child: outsider.#child });
    return outsider;
  }

  abort() {
    this.#child.signal('SIGUSR2');
  }
}
