// @ts-check
// The example with curl in docs/protocol.md, line by line as it stands there: with the variables of this test for the
// service, its token and the workflow.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { appFolder, protocol } from './lib/paths.mjs';
import { run } from './lib/process.mjs';
import { startStack } from './lib/stack.mjs';

const section = (await readFile(protocol, 'utf8')).split('\n## An example with curl\n')[1].split('\n## ')[0];
const [settings, commands] = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, lines]) => lines);
const manifest = JSON.parse(await readFile(join(appFolder('v4'), '.well-known/workflow/v1/manifest.json'), 'utf8'));
const { workflowId } = /** @type {any} */ (Object.assign({}, ...Object.values(manifest.workflows))).par;

for (const token of [undefined, 'a-token-for-curl']) {
  test(`a run is started, awaited and read by curl ${token ? 'with' : 'without'} a token`, async (t) => {
    const { app, service } = await startStack(t, { sdk: 'v4', token });
    const set = { WORLD: service.url, TOKEN: token ?? '', WORKFLOW: workflowId };
    let own = settings;
    for (const [name, value] of Object.entries(set)) {
      assert.match(own, new RegExp(`^${name}=`, 'm'));
      own = own.replace(new RegExp(`^${name}=.*`, 'm'), `${name}='${value}'`);
    }
    const { code, stdout, tail } = await run('bash', ['-eu', '-o', 'pipefail', '-c', `${own}\n${commands}`], {});
    assert.equal(code, 0, tail);
    const [apps, queued, ended, events, runs] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual([apps.data.length, apps.data[0].baseUrl, apps.data[0].alive], [1, app.url, true]);
    assert.match(queued.messageId, /^msg_/);
    assert.equal(ended.status, 'completed');
    assert.equal(Buffer.from(ended.output.data, 'base64').toString(), 'devl[6]', 'as the text below the example says');
    assert.deepEqual([events.data[0].eventType, events.data.at(-1).eventType], ['run_created', 'run_completed']);
    assert.deepEqual(
      runs.data.map(({ runId }) => runId),
      [ended.runId],
    );
  });
}
