// @ts-check
// The workflows (e2e/apps/workflows/modern/chaos.ts), with arguments chosen by the seed and the expected value of
// each.

/** @type {(count: number, every: number, closes: boolean, throws?: boolean, namespace?: string) => object} */
const plan = (count, every, closes, throws = false, namespace = undefined) => ({ count, every, closes, throws, namespace });

/** What the steps of a run do with its streams: ten times `pace`, as a model writes its text. */
const stagesOf = (pace) => [
  [3, [[plan(11, pace, true)]]],
  [2, [[plan(41, pace / 4, true)]]],
  [3, [[plan(11, pace, true, true)]]], // throws after its close
  [3, [[plan(11, pace, false)]]],
  [1, [[plan(11, pace, false, true)]]],
  [2, [[plan(6, pace, false)], [plan(6, pace, true)]]], // one continues where another stopped
  [2, [[plan(11, pace, true, false, 'a'), plan(11, pace, true, true, 'b'), plan(11, pace, false)]]],
  [1, [[plan(11, pace, false), plan(41, pace / 4, false)]]], // two steps, one stream
];

const sumOf = (count) => (count * (count - 1)) / 2;

export const KINDS = {
  writes: {
    weight: 10,
    make: ({ random, pace }) => writes(random.oneOf(stagesOf(pace))),
  },
  returns: { weight: 3, make: ({ pace }) => ({ workflow: 'chaosReturns', args: [10, pace] }) },
  steps: {
    weight: 3,
    make({ random }) {
      const count = random.between(2, 5);
      return { workflow: 'chaosSteps', args: [count, random.between(0, 400)], value: count + sumOf(count) + count };
    },
  },
  retries: { weight: 1, make: ({ random }) => one('chaosRetries', random.between(1, 1000)) },
  sleeps: {
    weight: 2,
    make({ random }) {
      const count = random.between(1, 4);
      return { workflow: 'chaosSleeps', args: [count, random.between(200, 2500)], value: count };
    },
  },
  hook: {
    weight: 3,
    make({ random, id }) {
      const payload = random.between(1, 1000);
      return { workflow: 'chaosHook', args: [`chaos ${id}`], payload, value: payload + 1 };
    },
  },
  children: {
    weight: 2,
    make({ random }) {
      const count = random.between(1, 3);
      return { workflow: 'chaosParent', args: [count], value: 2 * sumOf(count) };
    },
  },
  fails: { weight: 1, make: () => ({ workflow: 'chaosFails', args: [], fails: true }) },
};

/** A run of each way to write, so that even a short round has all of them. */
export const everyWay = (pace) => [...stagesOf(pace).map(([, stages]) => writes(stages)), KINDS.returns.make({ pace })];

function writes(stages) {
  return { workflow: 'chaosWrites', args: [stages], plans: stages.flat() };
}

function one(workflow, value) {
  return { workflow, args: [value], value };
}
