/** The SDK generations that load this client. */
export type Sdk = 'v4' | 'v5';

const V5_MARK = Symbol.for('@workflow/world//getWorldFn');

/**
 * Which SDK generation is in this process. v5 leaves a mark on `globalThis` when it is loaded, before it creates
 * a World; v4 never does (contract §0).
 */
export function detectSdk(): Sdk {
  return V5_MARK in globalThis ? 'v5' : 'v4';
}

/**
 * The spec version to show that SDK. Either would misbehave with the other's number: v4 would stamp runs with
 * a version it does not speak, v5 refuses a World below 6.
 */
export function specVersionFor(sdk: Sdk): number {
  if (sdk === 'v4') return 3;
  const sealed = process.env['WORKFLOW_SEALED_LOG'];
  return sealed === '0' || sealed === 'false' ? 6 : 7;
}
