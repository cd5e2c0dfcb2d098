// How often a step's body ran. No log has that, so the app counts.

async function counted(milliseconds: number) {
  'use step';
  const app = globalThis as unknown as { bodies?: number };
  app.bodies = (app.bodies ?? 0) + 1;
  await new Promise((done) => setTimeout(done, milliseconds));
  return app.bodies;
}

/** One long step, beginning and end in the app's own count. */
export async function longStep(milliseconds: number) {
  'use workflow';
  return await counted(milliseconds);
}
