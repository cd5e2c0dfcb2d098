package setup

import (
	"context"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// Prefixes are the prefixes of a namespace's keys and queue names.
type Prefixes struct{ Keys, Jobs string }

// Checks checks only the server and counts nothing; the service runs it at start. server is the server's name and
// version.
func Checks(ctx context.Context, conn *redisconn.Conn, namespaces []Prefixes, production bool) (checks []Check, server string, err error) {
	nodes, err := findNodes(ctx, conn)
	if err != nil {
		return nil, "", err
	}
	return check(ctx, conn, nodes, namespaces, production)
}

func check(ctx context.Context, conn *redisconn.Conn, nodes []*node, namespaces []Prefixes, production bool) (checks []Check, server string, err error) {
	nodes, away, err := ask(ctx, nodes)
	if err != nil {
		return nil, "", err
	}
	connection, err := checkConnection(ctx, nodes)
	if err != nil {
		return nil, "", err
	}
	server, _ = serverName(nodes[0].info)
	mode := each(nodes, checkMode(conn.Mode))
	checks = append(checks, connection, each(nodes, checkVersion), mode)
	if away != "" {
		checks = append(checks, Check{
			Name: "nodes", Verdict: Warn, Message: away,
			Advice: "Bring the node back, or have a replica take over: until then nothing in its slots can be read or written.",
		})
	}
	if conn.Mode == redisconn.Cluster {
		cluster, err := checkCluster(ctx, nodes[0].client)
		if err != nil {
			return nil, "", err
		}
		checks = append(checks, cluster)
	}
	if conn.Replicas > 0 {
		checks = append(checks, each(nodes, checkReplicas(ctx, int(conn.Replicas))))
	}
	checks = append(checks, each(nodes, checkPersistence(production)), each(nodes, checkEviction), each(nodes, checkMemory))
	if !mode.Refuse && conn.Mode != redisconn.Embedded { // a replica or a Sentinel refuses everything
		rights, err := checkRights(ctx, conn, namespaces, away != "")
		if err != nil {
			return nil, "", err
		}
		checks = append(checks, rights)
	}
	return checks, server, nil
}
