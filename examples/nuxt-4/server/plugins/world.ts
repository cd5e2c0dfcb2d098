import { getWorld } from 'workflow/runtime';
import '@world-redis/client';

export default defineNitroPlugin(async () => {
  await (await getWorld()).start?.();
});
