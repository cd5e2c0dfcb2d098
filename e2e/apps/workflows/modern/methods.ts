// Methods that are steps: `this` goes along.
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
  return { values: [first.value, await second.read()], isCounter: second instanceof Counter };
}
