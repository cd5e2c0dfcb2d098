package httpapi

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// checkListen refuses an address that other machines can reach while nothing asks them
// for a token.
func checkListen(address string, tokens []string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the listen address %q is not host:port, such as 127.0.0.1:8787", address)
	}
	if slices.Contains(tokens, "") {
		return errors.New("a token in WORKFLOW_WORLD_TOKEN is empty")
	}
	if len(tokens) == 0 && !isLoopback(host) {
		return fmt.Errorf("refusing to listen on %s without a token: set WORKFLOW_WORLD_TOKEN, or listen on 127.0.0.1", address)
	}
	return nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
