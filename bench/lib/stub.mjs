// @ts-check
// An app that answers immediately: `bench-load stub`, a separate process with little overhead.
import { Child } from '../../e2e/lib/process.mjs';
import { until } from '../../e2e/lib/wait.mjs';
import { loadBinary } from './paths.mjs';

/** Starts the stub, passes its address to `use`, and ends it. */
export async function withStub(use) {
  const child = new Child('stub', loadBinary, ['stub']);
  try {
    await until('the stub to say its address', () => child.stdout.includes('\n'), { child });
    return await use(JSON.parse(child.stdout).url);
  } finally {
    await child.end();
  }
}
