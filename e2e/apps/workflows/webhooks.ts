// Webhooks that answer in the three ways there are.
import { createWebhook, type RequestWithResponse } from 'workflow';

async function answer(request: RequestWithResponse, text: string) {
  'use step';
  await request.respondWith(new Response(text, { status: 200 }));
}

export async function threeWebhooks() {
  'use workflow';
  const accepted = createWebhook();
  const fixed = createWebhook({ respondWith: new Response('pay first', { status: 402 }) });
  const manual = createWebhook({ respondWith: 'manual' });
  const seen: unknown[] = [];
  for (const webhook of [accepted, fixed]) {
    const request = await webhook;
    seen.push({ url: request.url, method: request.method, body: await request.text() });
  }
  const request = await manual;
  const body = await request.text();
  await answer(request, `you said ${body}`);
  seen.push({ url: request.url, method: request.method, body });
  return seen;
}
