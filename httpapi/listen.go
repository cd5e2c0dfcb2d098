package httpapi

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode/utf8"
)

// minToken is the smallest number of characters of a token if other machines can try tokens. The keys that sign
// deliveries are derived from tokens, too.
const minToken = 16

// checkListen refuses an address that other machines can reach if there is no token, or one
// that can be guessed.
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
	return checkTokens(address, "", tokens)
}

// checkTokens refuses tokens that can be guessed from another machine. setting names their setting in the error.
func checkTokens(address, setting string, tokens []string) error {
	if host, _, err := net.SplitHostPort(address); err == nil && isLoopback(host) {
		return nil
	}
	for _, token := range tokens {
		if n := utf8.RuneCountInString(token); n < minToken {
			return fmt.Errorf("refusing to listen on %s with a token of %d characters%s: it needs at least %d; `openssl rand -hex 24` makes one", address, n, setting, minToken)
		}
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
