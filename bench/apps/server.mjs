// @ts-check
// The bench's app: a Hono server around the bundles of `workflow build` in the working directory. It measures
// in-process (POST /measure/NAME), so the path is a real app's: start() → World → delivery to
// /.well-known/workflow/v1/* → … → run completed.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { measurements } from './measurements.mjs';

const require = createRequire(join(process.cwd(), 'index.js'));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const modules = join(process.cwd(), 'node_modules');
const { serve } = await load('@hono/node-server');
const { Hono } = await load('hono');
// The SDK's export map has no require condition for these two modules.
const api = await import(join(modules, 'workflow/dist/api.js'));
const { getWorld } = await import(join(modules, 'workflow/dist/runtime.js'));

const bundles = join(process.cwd(), '.well-known/workflow/v1');
const port = Number(process.env.PORT);
const world = await getWorld();
const workflows = Object.assign({}, ...Object.values(JSON.parse(readFileSync(join(bundles, 'manifest.json'), 'utf8')).workflows));
const sdk = { ...api, world, workflows };
const app = new Hono();

for (const kind of ['flow', 'step']) {
  const file = ['mjs', 'js'].map((extension) => join(bundles, `${kind}.${extension}`)).find(existsSync);
  if (!file) continue; // SDK v5 has no step route
  const module = await import(pathToFileURL(file).href);
  const handler = module.POST ? module : module.default;
  app.all(`/.well-known/workflow/v1/${kind}`, (c) => handler.POST(c.req.raw));
}

app.post('/measure/:name', async (c) => {
  try {
    return c.json(await measurements[c.req.param('name')](sdk, await c.req.json()));
  } catch (error) {
    return c.json({ error: `${error.name}: ${error.message}` }, 500);
  }
});
app.get('/ready', (c) => c.json({}));

// No host name: some Worlds deliver to localhost, which is ::1 or 127.0.0.1.
serve({ fetch: app.fetch, port }, async () => {
  await world.start?.();
});

process.once('SIGTERM', () => {
  setTimeout(() => process.exit(0), 1_000).unref();
  Promise.resolve(world.close?.()).finally(() => process.exit(0));
});
