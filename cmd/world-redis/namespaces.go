package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/world-redis/world-redis/embedded"
	"github.com/world-redis/world-redis/httpapi"
)

// namespace is a tenant of the service: apps with their own tokens, keys and data. The default one has no name and
// uses the prefixes of the settings.
type namespace struct {
	name                 string
	tokens               []string
	signingKeys          [][]byte
	keyPrefix, jobPrefix string
	baseURL              string
}

// namespaces returns the default namespace, followed by those of WORKFLOW_WORLD_NAMESPACES. Their prefixes cannot
// overlap: a name contains neither colons nor underscores, and no key of the service begins with "ns:".
func (c config) namespaces() ([]namespace, error) {
	all := []namespace{{
		tokens: c.tokens(), signingKeys: c.signingKeys(), keyPrefix: c.KeyPrefix, jobPrefix: c.JobPrefix, baseURL: c.BaseURL,
	}}
	owner := map[string]string{}
	for _, token := range c.tokens() {
		owner[token] = "the default one"
	}
	for _, entry := range splitList(c.Namespaces, ",") {
		name, list, _ := strings.Cut(entry, "=")
		name = strings.TrimSpace(name)
		tokens := splitList(list, "|")
		switch {
		case !httpapi.ValidNamespace(name):
			return nil, fmt.Errorf("WORKFLOW_WORLD_NAMESPACES: entry %d has no valid name: use name=token|token,…, where a name is a lower-case letter and then letters and digits, at most 32", len(all))
		case name == "default":
			return nil, errors.New("WORKFLOW_WORLD_NAMESPACES: the default namespace has no entry; its tokens are WORKFLOW_WORLD_TOKEN")
		case len(tokens) == 0: // the name may be a token, so the message does not repeat it
			return nil, fmt.Errorf("WORKFLOW_WORLD_NAMESPACES: entry %d has no token: use name=token|token", len(all))
		}
		for _, n := range all {
			if n.name == name {
				return nil, fmt.Errorf("WORKFLOW_WORLD_NAMESPACES: %s is listed twice; list all its tokens together, as %s=token|token", name, name)
			}
		}
		for _, token := range tokens {
			if other, taken := owner[token]; taken && other != name {
				return nil, fmt.Errorf("WORKFLOW_WORLD_NAMESPACES: %s has the same token as %s", name, other)
			}
			owner[token] = name
		}
		if len(tokens) > maxSigningKeys {
			return nil, fmt.Errorf("WORKFLOW_WORLD_NAMESPACES: %s has more than %d tokens", name, maxSigningKeys)
		}
		all = append(all, namespace{
			name: name, tokens: tokens, signingKeys: tokenKeys(tokens),
			keyPrefix: c.KeyPrefix + "ns:" + name + ":", jobPrefix: c.JobPrefix + name + "_",
		})
	}
	return all, nil
}

// tokenKeys derives a signing key from each token.
func tokenKeys(tokens []string) [][]byte {
	keys := make([][]byte, 0, len(tokens))
	for _, token := range tokens {
		keys = append(keys, embedded.KeyFromToken(token))
	}
	return keys
}
