package dialpolicy

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// target is a host and port as text.
type target struct {
	text string     // as given
	host string     // in lower case, without the trailing dot of a full name
	ip   netip.Addr // valid if the host is an address; never an IPv4 address in IPv6 form
	port uint16
}

// parseURL reads the host and port of an app's address.
func parseURL(address string) (target, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return target{}, &RefusedError{fmt.Sprintf("%.200q", address), "it is not an http:// or https:// address"}
	}
	if u.User != nil {
		return target{}, &RefusedError{u.Redacted(), "it has a user name or password"}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return newTarget(u.Host, u.Hostname(), port)
}

// newTarget refuses unusual forms of a host or port. Other forms of an IPv4 address, such as 0x7f000001 or 127.1, are
// addresses to some resolvers and names to others.
func newTarget(text, host, port string) (target, error) {
	text = fmt.Sprintf("%.200s", text)
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return target{}, &RefusedError{text, "the port is not from 1 to 65535"}
	}
	t := target{text: text, host: strings.TrimSuffix(strings.ToLower(host), "."), port: uint16(n)}
	if t.ip, err = netip.ParseAddr(t.host); err == nil {
		t.ip = t.ip.Unmap()
		return t, nil
	}
	if !isName(t.host) {
		return target{}, &RefusedError{text, "the host is neither a name nor an IP address in its usual form, such as 127.0.0.1 or [::1]"}
	}
	return t, nil
}

const (
	maxName  = 253 // bytes
	maxLabel = 63
)

// isName reports whether a host is an ASCII name, and not another form of an IPv4 address: those end with a number.
func isName(host string) bool {
	if len(host) > maxName {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > maxLabel || strings.ContainsFunc(label, func(r rune) bool { return !isNameRune(r) }) {
			return false
		}
	}
	last := labels[len(labels)-1]
	if _, err := strconv.ParseUint(strings.TrimPrefix(last, "0x"), 16, 64); err == nil && strings.HasPrefix(last, "0x") {
		return false
	}
	return last != "0x" && strings.ContainsFunc(last, func(r rune) bool { return r < '0' || r > '9' })
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}
