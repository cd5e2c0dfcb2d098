import { defineMiddleware } from 'astro:middleware';
import { getWorld } from 'workflow/runtime';

async function register() {
  await (await getWorld()).start?.();
}

// Not awaited: the service's check of the address goes through this middleware, too.
void register();

export const onRequest = defineMiddleware((_context, next) => next());
