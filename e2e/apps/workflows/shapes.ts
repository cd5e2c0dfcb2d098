// Values and functions of many shapes, passed between workflows and steps.
import { WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from '@workflow/serde';

async function double(n: number) {
  'use step';
  return n * 2;
}

async function callTwice(step: (n: number) => Promise<number>, n: number) {
  'use step';
  return await step(await step(n));
}

/** A step as the argument of a step. */
export async function stepAsArgument(n: number) {
  'use workflow';
  return await callTwice(double, n);
}

/** Steps that use what surrounds them. */
export async function closures(n: number) {
  'use workflow';
  const prefix = 'number ';
  const describe = async (suffix: string) => {
    'use step';
    return `${prefix}${n}${suffix}`;
  };
  return [await describe('!'), await describe('?')];
}

async function multiply(this: { factor: number }, n: number) {
  'use step';
  return n * this.factor;
}

/** call and apply take `this` along. */
export async function boundThis() {
  'use workflow';
  const hundred = await multiply.call({ factor: 10 }, 10);
  const twoHundred = await multiply.apply({ factor: 2 }, [100]);
  return hundred + twoHundred;
}

export class Point {
  constructor(
    public x: number,
    public y: number,
  ) {}

  static [WORKFLOW_SERIALIZE](point: Point) {
    return { x: point.x, y: point.y };
  }

  static [WORKFLOW_DESERIALIZE]({ x, y }: { x: number; y: number }) {
    return new Point(x, y);
  }

  static async square(n: number) {
    'use step';
    return n * n;
  }

  static async scaled(n: number, factor: number) {
    'use step';
    return n * factor;
  }
}

async function mirror(point: Point) {
  'use step';
  return new Point(-point.x, -point.y);
}

/** A class of the app's own, with a static method that is a step. */
export async function classes() {
  'use workflow';
  const mirrored = await mirror(new Point(1, 2));
  const statics = [await Point.square(4), await Point.scaled(10, 5), await Point.scaled(50, 3)];
  return { statics, mirrored: [mirrored.x, mirrored.y], isPoint: mirrored instanceof Point };
}

/** A class that only steps know: what the workflow holds in between is passed on as it is. */
export async function passedOn(x: number, y: number) {
  'use workflow';
  return await flat(await mirror(new Point(x, y)));
}

async function flat(point: Point) {
  'use step';
  return { x: point.x, y: point.y, isPoint: point instanceof Point };
}
