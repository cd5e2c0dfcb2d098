// @ts-check
// Runs the SDK's own published tests of a World against the real service on a real Redis:
//   node run.mjs v5 12     in suites/v5, where all 12 tests must pass
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../lib/process.mjs';
import { RedisServer } from '../lib/redis.mjs';
import { Service } from '../lib/service.mjs';

const [sdk, expected] = [process.argv[2], Number(process.argv[3])];
const folder = fileURLToPath(new URL(sdk, import.meta.url));
const node = join(folder, 'node_modules/node/bin/node');

const temporary = await mkdtemp(join(tmpdir(), 'world-redis-suite-'));
const redis = await RedisServer.start();
const service = new Service({ redis, port: await freePort() });
let failure;
try {
  await service.start();
  const report = join(temporary, 'report.json');
  const code = await runVitest(report);
  const { numPassedTests: passed, numTotalTests: total } = JSON.parse(await readFile(report, 'utf8'));
  if (code !== 0 || passed !== expected || total !== expected) {
    failure = `${passed} of ${total} tests passed, ${expected} were expected (exit code ${code})`;
  } else {
    console.log(`suite of SDK ${sdk}: ${passed} of ${total} passed`);
  }
} catch (error) {
  failure = error.stack;
} finally {
  await service.stop();
  await redis.stop();
  if (!failure && service.alarms.length > 0) failure = `false alarms in the service's log:\n${service.alarms.join('\n')}`;
  await rm(temporary, { recursive: true, force: true });
}
if (failure) {
  console.error(`--- service ---\n${service.tail}\n--- suite of SDK ${sdk} ---\n${failure}`);
  process.exitCode = 1;
}

async function runVitest(report) {
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const child = spawn(node, [vitest, 'run', 'world.test.mjs', ...reporters], {
    cwd: folder,
    stdio: 'inherit',
    env: {
      HOME: process.env.HOME,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
      // The suite starts its servers with the first "node" in the path.
      PATH: dirname(node) + delimiter + process.env.PATH,
      WORKFLOW_TARGET_WORLD: '@world-redis/client',
      ...service.clientEnv,
    },
  });
  const [code] = await once(child, 'close');
  return code;
}
