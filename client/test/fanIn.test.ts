/** The steps of an SDK v5 run that end together: what their deliveries read of its log. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createWorld } from './helpers/client.js';
import { type Answer, Fake, json } from './helpers/fake.js';

let fake: Fake;
before(async () => void (fake = await Fake.start(json(500, {}))));
after(() => fake.stop());

type Log = { data: { eventType: string; correlationId?: string; eventId: string }[]; cursor: string | null; hasMore: boolean };

let ids = 0;

/** A log in which the steps `open` have not ended, and those of `ended` have, in this order. */
function log(ended: string[], open: string[] = []): Log {
  const types = [['run_started'], ...[...ended, ...open].map((step) => ['step_created', step]), ...ended.map((step) => ['step_completed', step]), ['attr_set']] as [
    string,
    string?,
  ][];
  const data = types.map(([eventType, correlationId], i) => ({ eventType, ...(correlationId && { correlationId }), eventId: `evnt_${i}` }));
  return { data, cursor: 'the end', hasMore: false };
}

/** Answers the next read of the log when released. */
function nextRead(): { asked: Promise<void>; answer: (status: number, body: unknown) => void } {
  let ask!: () => void;
  let release!: (answer: Answer) => void;
  const asked = new Promise<void>((resolve) => (ask = resolve));
  const released = new Promise<Answer>((resolve) => (release = resolve));
  fake.next((response, seen) => {
    ask();
    void released.then((answer) => answer(response, seen));
  });
  return { asked, answer: (status, body) => release(json(status, body)) };
}

interface Delivery {
  /** The handler has asked for the log. */
  asked: Promise<void>;
  /** What it read, or the errors. */
  pages: Promise<(Log | Error)[]>;
}

/** Delivers a message to a handler that reads its run's log `times` times. */
function deliver(runId: string, stepId: string | undefined, times = 1): Delivery {
  const world = createWorld({ url: fake.url, token: '', signingKey: '' });
  let ask!: () => void;
  const asked = new Promise<void>((resolve) => (ask = resolve));
  const pages = new Promise<(Log | Error)[]>((resolve, reject) => {
    const handle = world.createQueueHandler('__wkf_workflow_', async () => {
      const read: (Log | Error)[] = [];
      for (let i = 0; i < times; i++) {
        const page = world.events.list({ runId, pagination: { sortOrder: 'asc' } }) as Promise<Log>;
        ask();
        read.push(await page.catch((error: Error) => error));
      }
      resolve(read);
    });
    const headers = { 'x-vqs-queue-name': '__wkf_workflow_w', 'x-vqs-message-id': `msg_fan_${ids++}`, 'x-vqs-message-attempt': '1' };
    handle(new Request('http://app/', { method: 'POST', headers, body: JSON.stringify({ runId, stepId }) })).catch(reject);
  });
  return { asked, pages };
}

const askedBy = (deliveries: Delivery[]) => Promise.all(deliveries.map(({ asked }) => asked));
const readBy = (deliveries: Delivery[]) => Promise.all(deliveries.map(({ pages }) => pages));
const reads = () => fake.seen.filter(({ url }) => url.includes('/events')).length;

test('of the steps that end together one continues the run, and the others leave it to that one', async () => {
  const before = reads();
  const [first, second] = [nextRead(), nextRead()];
  const early = deliver('wrun_a', 'step_1');
  await first.asked;
  const late = ['step_2', 'step_3', 'step_4'].map((step) => deliver('wrun_a', step));
  await askedBy(late);
  first.answer(200, log(['step_1'], ['step_2', 'step_3', 'step_4']));
  assert.deepEqual(await early.pages, [log(['step_1'], ['step_2', 'step_3', 'step_4'])]);

  await second.asked;
  const whole = log(['step_1', 'step_2', 'step_4', 'step_3']);
  second.answer(200, whole);
  const end = whole.data.findLastIndex(({ eventType, correlationId }) => eventType === 'step_completed' && correlationId === 'step_3');
  const [two, three, four] = await readBy(late);
  assert.deepEqual(three, [whole], 'step_3 ended last');
  const cut = { data: whole.data.slice(0, end), cursor: null, hasMore: false };
  assert.deepEqual([two, four], [[cut], [cut]]);
  assert.equal(reads() - before, 2, 'the three read it once');
});

test('while a step is open, each delivery gets the whole log, in its own list', async () => {
  const [first, second] = [nextRead(), nextRead()];
  const early = deliver('wrun_b', 'step_0');
  await first.asked;
  const late = [deliver('wrun_b', 'step_1'), deliver('wrun_b', 'step_2')];
  await askedBy(late);
  first.answer(200, log([]));
  await early.pages;
  const whole = log(['step_1', 'step_2'], ['step_0']);
  second.answer(200, whole);
  const [one, two] = await readBy(late);
  assert.deepEqual([one, two], [[whole], [whole]]);
  const [dataOne, dataTwo] = [one, two].map((pages) => (pages as [Log])[0].data);
  assert.notEqual(dataOne, dataTwo);
});

test('a delivery whose step ended elsewhere gets the whole log', async () => {
  const read = nextRead();
  const reader = deliver('wrun_c', 'step_9');
  read.answer(200, log(['step_1']));
  assert.deepEqual(await reader.pages, [log(['step_1'])]);
});

test('later reads of a delivery are its own, and complete', async () => {
  const whole = log(['step_1', 'step_2']);
  const [first, again, other] = [nextRead(), nextRead(), nextRead()];
  const goesOn = deliver('wrun_d', 'step_1', 2);
  first.answer(200, log(['step_1'])); // step_2 is of a later suspension
  await again.asked;
  const next = deliver('wrun_d', 'step_2');
  await other.asked; // it does not wait for the other's second read
  again.answer(200, whole);
  other.answer(200, whole);
  assert.deepEqual(await goesOn.pages, [log(['step_1']), whole]);
  assert.deepEqual(await next.pages, [whole]);
});

test('a failed read fails for its callers, and later callers read again', async () => {
  const [first, second, third] = [nextRead(), nextRead(), nextRead()];
  const early = deliver('wrun_e', 'step_1');
  await first.asked;
  const late = deliver('wrun_e', 'step_2', 2);
  await late.asked;
  first.answer(500, { error: { name: 'WorkflowWorldError', message: 'no', status: 500 } });
  assert.equal(((await early.pages)[0] as Error).message, 'no');
  second.answer(200, log(['step_1', 'step_2']));
  third.answer(200, log([]));
  assert.deepEqual(await late.pages, [log(['step_1', 'step_2']), log([])]);
});

test('each delivery of a flow reads the log itself', async () => {
  const [first, second] = [nextRead(), nextRead()];
  const both = [deliver('wrun_f', undefined), deliver('wrun_f', undefined)];
  await Promise.all([first.asked, second.asked]);
  first.answer(200, log([]));
  second.answer(200, log([]));
  assert.deepEqual(await readBy(both), [[log([])], [log([])]]);
});
