export async function register() {
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    // Nothing else imports the client, and the standalone output contains only what is imported.
    await import('@world-redis/client');
    const { getWorld } = await import('workflow/runtime');
    await (await getWorld()).start?.();
  }
}
