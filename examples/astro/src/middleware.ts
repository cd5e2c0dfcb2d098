import { getWorld } from 'workflow/runtime';

await (await getWorld()).start?.();

export const onRequest = (_context: unknown, next: () => Promise<Response>) => next();
