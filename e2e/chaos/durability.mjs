// WORKFLOW_WORLD_DURABILITY of the services: how many replicas confirm a write before it is acknowledged.

/** How many replicas confirm each write: 0 for `local` or if nothing is set. */
function confirming(durability = 'local') {
  const [, count = '1'] = /^replicas(?::(\d+))?$/.exec(durability) ?? [undefined, '0'];
  return Number(count);
}

/**
 * Whether a failover may lose acknowledged writes if a master has `replicas`. Redis may choose a replica that did not
 * confirm, so only writes that all of them confirmed are safe.
 */
export const mayLoseConfirmed = (durability, replicas) => confirming(durability) < replicas;
