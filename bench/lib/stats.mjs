// @ts-check
// Statistics. All functions take a list in any order and do not change it.

/** The value below which the share `q` (0 to 1) of the values lies; undefined for an empty list. */
export function quantile(values, q) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

/** The middle value, or the mean of the two middle values; undefined for an empty list. */
export function median(values) {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** Median, minimum and maximum; undefined for an empty list. */
export function summary(values) {
  if (values.length === 0) return undefined;
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), values };
}
