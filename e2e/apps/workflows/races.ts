// Shapes in which steps, hooks and timers race each other for many rounds. Each returns a ledger of what it saw, which
// must add up. The lengths of the steps are chosen in the steps, so that replays do not see them.
import { createHook, sleep } from 'workflow';

async function work(milliseconds: number, jitter: number, payload = '') {
  'use step';
  await new Promise((done) => setTimeout(done, milliseconds + Math.random() * jitter));
  return { length: payload.length, payload };
}

const count = <T>(items: T[], value: T) => items.filter((item) => item === value).length;

/** What every round of branches ends with: each loser runs a step, and then there is a batch as wide as there were losers. */
async function reconcile(outcomes: string[]) {
  const lost = count(outcomes, 'lost');
  await Promise.all(Array.from({ length: lost }, () => work(0, 10)));
  return { won: count(outcomes, 'won'), lost };
}

/** Steps that take about as long as the watchdog, beside a hook that is poked and never read. */
export async function stepStorm(token: string, rounds: number, branches: number) {
  'use workflow';
  const unread = createHook({ token });
  const ledger: { won: number; lost: number }[] = [];
  const steps: Promise<unknown>[] = [];
  for (let round = 0; round < rounds; round++) {
    const watchdog = sleep(300);
    const branch = async () => {
      const step = work(100, 500);
      steps.push(step);
      const first = await Promise.race([step.then(() => 'won'), watchdog.then(() => 'lost')]);
      if (first === 'lost') await work(0, 10);
      return first;
    };
    ledger.push(await reconcile(await Promise.all(Array.from({ length: branches }, branch))));
  }
  await Promise.all(steps);
  unread.dispose();
  return ledger;
}

/** Hooks against the watchdog; with `launch`, each only after a step. */
export async function hookStorm(token: string, rounds: number, branches: number, watch: number, launch: boolean) {
  'use workflow';
  const ledger: { won: number; lost: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const watchdog = sleep(watch);
    const branch = async (_: unknown, i: number) => {
      if (launch) await work(10, 50);
      const hook = createHook<string>({ token: `${token}/${round}/${i}` });
      const first = await Promise.race([hook.then(() => 'won'), watchdog.then(() => 'lost')]);
      await work(0, 10);
      hook.dispose();
      return first;
    };
    ledger.push(await reconcile(await Promise.all(Array.from({ length: branches }, branch))));
  }
  return ledger;
}

/** One loop that a hook or a heartbeat wakes; only payloads with a number that is new count. */
export async function wakeLoop(token: string, wanted: number, cycles: number) {
  'use workflow';
  const wakes = createHook<number>({ token })[Symbol.asyncIterator]();
  const fresh: number[] = [];
  let next = wakes.next();
  for (let cycle = 0; cycle < cycles && fresh.length < wanted; cycle++) {
    const woken = await Promise.race([next, sleep(400).then(() => null)]);
    if (woken) {
      next = wakes.next();
      if (fresh.includes(woken.value)) continue;
      fresh.push(woken.value);
    }
    const { length } = await work(0, 10, 'x'.repeat(8192));
    if (length !== 8192) return 'a step lost its payload';
  }
  return fresh.sort((a, b) => a - b);
}

/** The control: one hook beside eight sleeps. */
export async function hookBesideSleeps(token: string) {
  'use workflow';
  const hook = createHook<string>({ token });
  const [payload] = await Promise.all([hook, ...Array.from({ length: 8 }, () => sleep(500))]);
  return payload;
}
