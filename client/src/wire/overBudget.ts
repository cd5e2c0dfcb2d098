/** The code of the service's refusal if it has no memory for a call at the moment. The call itself is valid. */
const OVER_BUDGET = 'over_budget';
/** How many levels of an error's causes are checked. */
const CAUSES = 5;
/** The wait in seconds if the service does not specify one, and the longest wait. */
const USUAL_WAIT = 1;
const LONGEST_WAIT = 60;

/** Whether a call's error is that refusal. */
export function isOverBudget(error: unknown): boolean {
  return (error as { code?: unknown } | null | undefined)?.code === OVER_BUDGET;
}

/** The wait in seconds before a retry, if an error or one of its causes is that refusal. */
export function overBudgetWait(error: unknown): number | undefined {
  let cause = error as { retryAfter?: unknown; cause?: unknown } | null | undefined;
  for (let i = 0; i < CAUSES && typeof cause === 'object' && cause !== null; i++, cause = cause.cause as typeof cause) {
    if (isOverBudget(cause)) return spread(Math.min(LONGEST_WAIT, Number(cause.retryAfter) || USUAL_WAIT));
  }
  return undefined;
}

/** Up to twice as long, so that callers refused together do not come back together. */
export function spread(wait: number): number {
  return wait * (1 + Math.random());
}
