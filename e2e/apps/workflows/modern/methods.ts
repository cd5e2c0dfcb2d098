// Methods that are steps: `this` is passed, too.
import { WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from '@workflow/serde';

export class Counter {
  constructor(public value: number) {}

  static [WORKFLOW_SERIALIZE](counter: Counter) {
    return { value: counter.value };
  }

  static [WORKFLOW_DESERIALIZE]({ value }: { value: number }) {
    return new Counter(value);
  }

  async plus(n: number) {
    'use step';
    return new Counter(this.value + n);
  }

  async read() {
    'use step';
    return this.value;
  }
}

export async function methods(start: number) {
  'use workflow';
  const first = await new Counter(start).plus(10);
  const second = await first.plus(100);
  return { values: [await first.read(), await second.read()], isCounter: second instanceof Counter };
}

class Plan {
  constructor(public factor: number) {}

  static [WORKFLOW_SERIALIZE]({ factor }: Plan) {
    return { factor };
  }

  static [WORKFLOW_DESERIALIZE]({ factor }: { factor: number }) {
    return new Plan(factor);
  }

  async times(n: number) {
    const multiply = async () => {
      'use step';
      return this.factor * n;
    };
    return await multiply();
  }

  twice(n: number) {
    const more = async (extra: number) => {
      'use step';
      return this.factor * n + extra;
    };
    return more(2 * n);
  }
}

/** A step inside of a method, an arrow function, that uses the method's this. */
export async function capturedThis(n: number) {
  'use workflow';
  return await new Plan(21).times(n);
}

/** The same with an argument of its own. */
export async function capturedThisOfArrow(n: number) {
  'use workflow';
  return await new Plan(5).twice(n);
}
