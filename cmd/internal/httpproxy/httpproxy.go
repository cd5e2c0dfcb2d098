// Package httpproxy reads WORKFLOW_WORLD_PROXY, the HTTP proxy for requests to apps and for requests of commands to
// the service. By default there is none, whatever HTTP_PROXY says: a company's proxy reaches the internet, but not an
// app in the next container.
package httpproxy

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Variable is the name of the setting.
const Variable = "WORKFLOW_WORLD_PROXY"

// FromEnvironment is the setting that uses Go's own variables.
const FromEnvironment = "env"

// Choose has the type of Proxy of an http.Transport.
type Choose func(*http.Request) (*url.URL, error)

// Parse reads the setting: empty, env, or the URL of a proxy. The result is nil if there is none. As with Go's own
// variables, no proxy is used for loopback addresses.
func Parse(setting string) (Choose, error) {
	switch setting {
	case "":
		return nil, nil //nolint:nilnil // net/http's value for no proxy
	case FromEnvironment:
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(setting)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		// The value may contain a password, so it is not repeated.
		return nil, errors.New(Variable + " must be empty, env, or http(s)://[user:password@]host[:port]")
	}
	return func(r *http.Request) (*url.URL, error) {
		if isThisMachine(r.URL.Hostname()) {
			return nil, nil //nolint:nilnil // as above
		}
		return u, nil
	}, nil
}

func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Describe returns the proxies of a setting, without passwords; getenv reads Go's own variables.
func Describe(setting string, getenv func(string) string) string {
	if setting != FromEnvironment {
		return redacted(setting)
	}
	return strings.Join(ofEnvironment(getenv), " ")
}

// Ignored returns Go's own variables that name a proxy, if the setting does not use them.
func Ignored(setting string, getenv func(string) string) string {
	if setting == FromEnvironment {
		return ""
	}
	var named []string
	for _, v := range ofEnvironment(getenv) {
		if !strings.HasPrefix(v, "NO_PROXY") {
			named = append(named, v)
		}
	}
	return strings.Join(named, " ")
}

func ofEnvironment(getenv func(string) string) []string {
	var out []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		value := getenv(name)
		if value == "" {
			value = getenv(strings.ToLower(name))
		}
		if value != "" {
			out = append(out, name+"="+redacted(value))
		}
	}
	return out
}

// redacted returns an address without its password.
func redacted(value string) string {
	if u, err := url.Parse(value); err == nil && u.User != nil {
		return u.Redacted()
	}
	if at := strings.LastIndexByte(value, '@'); at >= 0 {
		return value[at+1:] // without a scheme, which Go's own variables may leave out
	}
	return value
}
