// @ts-check
/** A generator of numbers from 0 to 1 that gives the same ones for the same seed (mulberry32). */
export function randomFrom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    /** An integer from `low` to `high`, inclusive. */
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    /** One of the `[weight, value]` pairs. */
    oneOf(weighted) {
      let at = next() * weighted.reduce((sum, [weight]) => sum + weight, 0);
      return weighted.find(([weight]) => (at -= weight) < 0)?.[1] ?? weighted.at(-1)[1];
    },
  };
}
