/**
 * The text with every lone half of a surrogate pair replaced. JavaScript strings may contain such halves, but UTF-8
 * cannot, and an error message that was cut within an emoji must not make a whole event unreadable.
 */
export function wellFormed(text: string): string {
  return (text as unknown as { toWellFormed(): string }).toWellFormed(); // in Node 20, but not yet in the typings of our build
}
