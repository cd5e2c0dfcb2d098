// Hooks and webhooks beyond the one of basic.ts.
import { createHook, createWebhook } from 'workflow';

/** Collects payloads until one says that it is the last. */
export async function collect(token: string) {
  'use workflow';
  const seen: number[] = [];
  for await (const { n, last } of createHook<{ n: number; last?: boolean }>({ token })) {
    seen.push(n);
    if (last) break;
  }
  return seen;
}

async function readBody(request: Request) {
  'use step';
  return await request.text();
}

/** Waits for one HTTP request to its webhook and returns what was in it. */
export async function webhook() {
  'use workflow';
  const request = await createWebhook();
  const body = await readBody(request);
  return { method: request.method, path: new URL(request.url).pathname, note: request.headers.get('x-note'), body };
}
