import type { ServerInit } from '@sveltejs/kit';
import { getWorld } from 'workflow/runtime';

export const init: ServerInit = async () => {
  await (await getWorld()).start?.();
};
