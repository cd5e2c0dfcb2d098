// @ts-check
// The log lines at WARN or above that tests provoke in the service, for startStack(t, { warns }).

/** Redis writes nothing to disk, in nearly all tests. */
export const notPersistent = /Redis is not set up as it should be.*check=persistence/;

/** Another build of the service, which E2E_BINARY names, has no such setting. */
export const unknownSetting = /unknown setting, ignored/;

/** A replica was killed: another one takes over its deliveries, or their answers come too late. */
export const replicaGone = /nobody held the lease of a message any more|the answer of a delivery came when its lease had lapsed/;

/** The service was stopped before its deliveries had ended. */
export const cutAtStop = /a delivery was cut at shutdown/;

/** Redis was unavailable. */
export const redisAway = /Redis (does not answer|is not reachable)|connection refused|i\/o timeout/;

/** Redis is a replica for a short time, for example after a failover. */
export const isReplica = /READONLY|LOADING/;

/** A message was given up. */
export const givenUp = /a message is set aside as undeliverable|its run could not be failed/;

/** A run has a value that exceeds the service's size limit. */
export const tooLarge = /a run was failed, because it has a value that is too large/;

/** The data in Redis was changed by hand. */
export const damaged = /an event is gone from the log of a run|An event is gone from the log of run|a step differed from its events/;

/** A workflow ends the process of its app. */
export const processEnds = /the app's process ended again and again/;

/** An app that registered did not answer the second check: its process has ended in the meantime. */
export const appAway = /no workflow app answers at this address/;
