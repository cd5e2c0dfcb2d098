/** The SDK generations that load this client. The one before event sourcing counts as v4; its calls have other names. */
export type Sdk = 'v4' | 'v5';

const V5_MARK = Symbol.for('@workflow/world//getWorldFn');
/** Set by every v5 that treats event ids as positions; earlier betas (up to about beta.35) do not set it. */
const SLOTS_MARK = Symbol.for('@workflow/errors//StreamError');

/**
 * The SDK generation in this process. v5 sets a mark on `globalThis` when it is loaded, before it creates a World; v4
 * never does (contract §0).
 */
export function detectSdk(): Sdk {
  return V5_MARK in globalThis ? 'v5' : 'v4';
}

/** Set by every SDK from before event sourcing, and by each v4, once it has created a World. */
const WORLD_MARKS = [Symbol.for('@workflow/world//cache'), Symbol.for('@workflow/world//stubbedCache')];
/** Set by the modules of later SDKs when they are loaded, before they create or use a World. */
const LATER_MARKS = [V5_MARK, Symbol.for('@workflow/errors//FatalError'), Symbol.for('@workflow/core//registeredSteps'), Symbol.for('WORKFLOW_STEP_CONTEXT_STORAGE')];

/**
 * Whether the SDK in this process is from before event sourcing (4.0.1-beta). It sets no mark before it has created
 * its World, so this is called when the World is used.
 */
export function isLegacySdk(): boolean {
  return WORLD_MARKS.some((mark) => mark in globalThis) && !LATER_MARKS.some((mark) => mark in globalThis);
}

/**
 * The spec version to declare to the SDK in this process. Each SDK refuses or misuses another version: v4 would mark
 * runs with a version it does not support, v5 requires 6 or 7, and its early betas require their own version exactly.
 * For the few betas that these marks do not distinguish, `WORKFLOW_WORLD_SPEC_VERSION` sets it.
 */
export function specVersionForSdk(): number {
  const named = Number(process.env['WORKFLOW_WORLD_SPEC_VERSION']);
  if (Number.isInteger(named) && named > 0) return named;
  if (detectSdk() === 'v4') return 3;
  if (!(SLOTS_MARK in globalThis)) return 5;
  const sealed = process.env['WORKFLOW_SEALED_LOG'];
  return sealed === '0' || sealed === 'false' ? 6 : 7;
}
