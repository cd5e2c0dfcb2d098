const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The text with every half of a surrogate pair replaced. JavaScript strings may hold such halves, UTF-8 cannot, and
 * an error message that was cut in the middle of an emoji must not make a whole event unreadable.
 */
export function wellFormed(text: string): string {
  return LONE_SURROGATE.test(text) ? Buffer.from(text, 'utf8').toString('utf8') : text;
}
