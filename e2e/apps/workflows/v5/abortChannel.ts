// Abort for any process: a run that holds a hook and a stream; watchers read the stream, and anyone may resume the hook.
import { createHook, getWritable, sleep } from 'workflow';

async function announce(message: { abort: boolean; reason: string; expired: boolean }) {
  'use step';
  const writer = getWritable<unknown>().getWriter();
  await writer.write(message);
  await writer.close();
}

export async function abortChannel(token: string, lifetime: number) {
  'use workflow';
  const hook = createHook<{ reason: string }>({ token });
  const reason = await Promise.race([hook.then((payload) => payload.reason), sleep(lifetime).then(() => null)]);
  const message = { abort: true, reason: reason ?? 'expired', expired: reason === null };
  await announce(message);
  return message;
}
