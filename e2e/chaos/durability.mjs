// WORKFLOW_WORLD_DURABILITY of the services: how many replicas confirm a write before it is answered.

/** How many replicas confirm each write: 0 for `local`, or where nothing is said. */
export function confirming(durability = 'local') {
  const [, count = '1'] = /^replicas(?::(\d+))?$/.exec(durability) ?? [undefined, '0'];
  return Number(count);
}

/**
 * Whether a failover may lose what was acknowledged where a master has `replicas`: Redis may choose one that did not confirm, so only
 * writes that all have confirmed are safe.
 */
export const mayLoseConfirmed = (durability, replicas) => confirming(durability) < replicas;
