/**
 * The text with every half of a surrogate pair replaced. JavaScript strings may hold such halves, UTF-8 cannot, and
 * an error message that was cut in the middle of an emoji must not make a whole event unreadable.
 */
export function wellFormed(text: string): string {
  return (text as unknown as { toWellFormed(): string }).toWellFormed(); // of Node 20, and not yet in the typings that we build with
}
