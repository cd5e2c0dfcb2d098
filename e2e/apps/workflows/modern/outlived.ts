// Streams whose writers go on when their step has returned: the app's process writes them, whatever has become of the run.
import { getWritable } from 'workflow';

const after = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));

interface Plan {
  /** Milliseconds before the first number, and between two. */
  first: number;
  gap: number;
  count: number;
  closes: boolean;
}

async function writesOn({ first, gap, count, closes }: Plan) {
  'use step';
  const writer = getWritable<number>().getWriter();
  const write = async () => {
    for (let n = 0; n < count; n++) {
      await after(n === 0 ? first : gap);
      await writer.write(n);
    }
    if (closes) await writer.close();
    else writer.releaseLock();
  };
  void write().catch((error) => console.error('outlived:', error)); // not awaited
}

async function lasts(milliseconds: number) {
  'use step';
  await after(milliseconds);
}

/** Begins to write 0, 1, 2, … and ends after the given milliseconds, whether or not they are written. */
export async function outlived(plan: Plan, milliseconds: number) {
  'use workflow';
  await writesOn(plan);
  await lasts(milliseconds);
}
