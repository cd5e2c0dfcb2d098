// Reads the whole log of a run through the World interface, page by page.

/** @returns {Promise<{at: number, type: string, subject?: string, attempt?: number, detail?: string}[]>} */
export async function readLog(world, runId) {
  const names = new Map();
  const attempts = new Map();
  const entries = [];
  for await (const event of events(world, runId)) {
    const id = event.correlationId;
    const data = event.eventData ?? {};
    if (data.stepName) names.set(id, shortName(data.stepName));
    if (data.token) names.set(id, data.token);
    if (event.eventType === 'step_started') attempts.set(id, (attempts.get(id) ?? 0) + 1);
    entries.push({
      at: new Date(event.createdAt).getTime(),
      type: event.eventType,
      subject: names.get(id),
      attempt: attempts.get(id),
      detail: detail(event.eventType, data),
    });
  }
  return entries;
}

async function* events(world, runId) {
  let cursor;
  do {
    const page = await world.events.list({ runId, pagination: { sortOrder: 'asc', cursor }, resolveData: 'all' });
    yield* page.data;
    cursor = page.hasMore ? page.cursor : undefined;
  } while (cursor);
}

/** step//./workflows/order//chargeCard → chargeCard */
function shortName(stepName) {
  return stepName.split('//').at(-1);
}

function detail(type, data) {
  switch (type) {
    case 'run_created':
      return shortName(data.workflowName ?? '');
    case 'step_retrying':
      return typeof data.error === 'string' ? data.error : data.error?.message;
    case 'wait_created':
      return data.resumeAt && `until ${new Date(data.resumeAt).toISOString().slice(11, 23)}`;
    default:
      return undefined;
  }
}
