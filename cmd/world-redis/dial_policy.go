package main

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/world-redis/world-redis/internal/dialpolicy"
	"github.com/world-redis/world-redis/internal/redisconn"
)

// webhookDialTimeout is how long an app may take to accept a connection for a webhook.
const webhookDialTimeout = 5 * time.Second

const ownAddress = "the address of this service itself"

// dialPolicy decides where the service may connect to when others choose the address. It covers the settings; the
// functions below add what is known only later.
func (c config) dialPolicy() (*dialpolicy.Policy, error) {
	hosts, err := dialpolicy.ParseHosts(c.AppHosts)
	if err != nil {
		return nil, err
	}
	policy := dialpolicy.New(hosts)
	policy.Forbid(dialpolicy.Place{What: ownAddress, Names: []string{c.Listen, c.MetricsListen}})
	return policy, nil
}

// checkBaseURL refuses an address that the service would not connect to, as far as that is known at start.
func (c config) checkBaseURL() error {
	policy, err := c.dialPolicy()
	if err != nil || c.BaseURL == "" {
		return err
	}
	if err := policy.Check(c.BaseURL); err != nil {
		return fmt.Errorf("WORKFLOW_BASE_URL is the address of the app to deliver to, and %w", err)
	}
	return nil
}

// forbidRedis prevents requests to apps from reaching the service's Redis.
func forbidRedis(policy *dialpolicy.Policy, conn *redisconn.Conn) {
	policy.Forbid(dialpolicy.Place{What: "the address of this service's Redis", Names: conn.Hosts(), Addresses: conn.Servers, Aliased: true})
}

// forbidListener prevents requests to apps from reaching an address that the service listens on. The address is empty
// until the service listens.
func forbidListener(policy *dialpolicy.Policy, address func() string) {
	policy.Forbid(dialpolicy.Place{What: ownAddress, Addresses: func() []netip.AddrPort {
		at, err := netip.ParseAddrPort(address())
		if err != nil {
			return nil
		}
		return []netip.AddrPort{at}
	}})
}
