/** The fast paths that rely on the SDK's next call, which no interface guarantees. */
export const GUESSING = ['anticipate', 'fan-in', 'request-body'] as const;

/** The versions of `@workflow/core` that they were tested with; with any other version they are off. */
export const TESTED = [
  { shown: '4.8.x', pattern: /^4\.8\.\d+$/ },
  { shown: '5.0.0-beta.50 to 55', pattern: /^5\.0\.0-beta\.5[0-5]$/ },
];
