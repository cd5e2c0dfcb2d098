/** The code of the service's refusal of a call for which it has no memory at the moment. Nothing is wrong with the call. */
const OVER_BUDGET = 'over_budget';
/** How far down an error's causes are looked at. */
const CAUSES = 5;
/** What is waited, in seconds, where the service does not say it, and for how long at most. */
const USUAL_WAIT = 1;
const LONGEST_WAIT = 60;

/** Whether an error of a call is that refusal. */
export function isOverBudget(error: unknown): boolean {
  return (error as { code?: unknown } | null | undefined)?.code === OVER_BUDGET;
}

/** After how many seconds to come again, if that refusal is what an error or one of its causes is. */
export function overBudgetWait(error: unknown): number | undefined {
  let cause = error as { retryAfter?: unknown; cause?: unknown } | null | undefined;
  for (let i = 0; i < CAUSES && typeof cause === 'object' && cause !== null; i++, cause = cause.cause as typeof cause) {
    if (isOverBudget(cause)) return spread(Math.min(LONGEST_WAIT, Number(cause.retryAfter) || USUAL_WAIT));
  }
  return undefined;
}

/** Up to twice as long, so that those who were refused together do not come back together. */
export function spread(wait: number): number {
  return wait * (1 + Math.random());
}
