// @ts-check
// Numbers about numbers. All take a list that need not be sorted and is left as it is.

/** The value below which the share `q` (0 to 1) of the values lies; undefined of none. */
export function quantile(values, q) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

/** The middle value, or the mean of the two in the middle; undefined of none. */
export function median(values) {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** Median, least and greatest; undefined of none. */
export function summary(values) {
  if (values.length === 0) return undefined;
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), values };
}
