/** The parts of a queue name or prefix: `__[namespace_]wkf_{workflow|step}_<rest>` (contract §5.1). */
export interface QueueName {
  namespace: string | undefined;
  kind: string;
  /** Opaque: workflow and step names contain slashes, dots and more. Empty for a prefix. */
  rest: string;
}

const PATTERN = /^__(?:([a-z][a-z0-9]*)_)?wkf_(workflow|step)_(.*)$/s;

/** Parses a name; undefined if it is not a queue name. */
export function parseQueueName(name: string): QueueName | undefined {
  const match = PATTERN.exec(name);
  return match ? { namespace: match[1], kind: match[2] as string, rest: match[3] as string } : undefined;
}

/**
 * The queue name as a handler for `prefix` expects it, or undefined if the message is not for that handler.
 *
 * v4 sends step messages to `__wkf_step_<name>` even if a namespace is configured, but its step handler listens on
 * the prefix with the namespace and removes that prefix to get the step's name (contract §10, trap 32). So a step
 * message without a namespace is accepted by every step handler, under the handler's own prefix.
 */
export function nameForHandler(name: string, prefix: string): string | undefined {
  const parsed = parseQueueName(name);
  if (!parsed || parsed.rest === '') return undefined;
  if (name.startsWith(prefix)) return name;
  if (parsed.kind === 'step' && parsed.namespace === undefined && parseQueueName(prefix)?.kind === 'step') {
    return prefix + parsed.rest;
  }
  return undefined;
}
