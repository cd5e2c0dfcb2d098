package dialpolicy

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Place is an address that is never dialled, whatever the list of hosts says.
type Place struct {
	What string // description, such as "this service's own address"
	// Names are host:port as in a setting. An unspecified host, as in 0.0.0.0:80 or :80, means every address of this
	// machine; port 0 means nothing.
	Names []string
	// Addresses returns the current addresses, with the same meaning; nil if there are only the names.
	Addresses func() []netip.AddrPort
	// Aliased means that any other address of this machine reaches the same service, if it runs on this machine.
	Aliased bool
}

// Policy decides which addresses may be dialled. It is safe for concurrent use.
type Policy struct {
	hosts Hosts

	mu      sync.RWMutex
	places  []place
	proxies []string // host:port, chosen by the operator

	redirect func(address string) (string, error) // nil: none
}

type place struct {
	Place
	targets []target // the parsed names
}

// New returns a policy for the hosts where apps may run.
func New(hosts Hosts) *Policy { return &Policy{hosts: hosts} }

// Redirect makes choose decide where a connection to an app is made: it is called with each host:port that is dialled and
// returns the one to dial instead, which the policy then checks, or why there is none now. It must be set before the first
// dial. Requests through a proxy are not redirected.
func (p *Policy) Redirect(choose func(address string) (string, error)) { p.redirect = choose }

// Forbid adds a place.
func (p *Policy) Forbid(add Place) {
	added := place{Place: add}
	for _, name := range add.Names {
		host, port, err := net.SplitHostPort(name)
		if err != nil {
			continue // not an address that can be dialled
		}
		hosts := []string{host}
		switch strings.ToLower(host) {
		case "":
			hosts = []string{"0.0.0.0"}
		case localhost:
			hosts = []string{localhost, "127.0.0.1", "::1"}
		}
		for _, host := range hosts {
			if t, err := newTarget(name, host, port); err == nil {
				added.targets = append(added.targets, t)
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places = append(p.places, added)
}

const localhost = "localhost"

// Check refuses the address of an app by its text: http(s)://host[:port][/path].
func (p *Policy) Check(address string) error {
	t, err := parseURL(address)
	if err != nil {
		return err
	}
	return p.checkText(t, false)
}

// checkText checks a target before its name is resolved. lastLook means that the resolved address will not be
// checked.
func (p *Policy) checkText(t target, lastLook bool) error {
	if t.ip.IsValid() {
		return p.checkAddress(t.text, t.ip, t.port, false)
	}
	if isMetadataName(t.host) {
		return &RefusedError{t.text, reasonMetadata}
	}
	for _, place := range p.forbidden() {
		if place.isNamed(t) {
			return &RefusedError{t.text, "it is " + place.What}
		}
	}
	if !p.hosts.takesName(t.host) && (lastLook || !p.hosts.hasAddresses()) {
		return &RefusedError{t.text, reasonNotListed}
	}
	return nil
}

const (
	reasonMetadata    = "it is a metadata address of a cloud, and no app is there"
	reasonNotListed   = "it is not among " + Variable + " of the service; add it there if an app is at it"
	reasonLinkLocal   = "it is a link-local address; name just this one in " + Variable + " of the service if an app is at it"
	reasonUnspecified = "it is where a server listens, not where it is reached; use 127.0.0.1, or a name or address of its host"
)

// checkAddress checks an IP address. named means that the name that resolved to it is listed.
func (p *Policy) checkAddress(text string, ip netip.Addr, port uint16, named bool) error {
	ip = ip.Unmap()
	forms := []netip.Addr{ip}
	if v4, ok := carried(ip); ok {
		forms = append(forms, v4)
	}
	for _, ip := range forms {
		switch {
		case ip.IsUnspecified():
			return &RefusedError{text, reasonUnspecified}
		case isMetadata(ip):
			return &RefusedError{text, reasonMetadata}
		}
		for _, place := range p.forbidden() {
			if place.isAt(ip, port) {
				return &RefusedError{text, "it is " + place.What}
			}
		}
		if ip.IsLinkLocalUnicast() && !p.hosts.isExact(ip) {
			return &RefusedError{text, reasonLinkLocal}
		}
	}
	if !named && !p.hosts.takesAddress(ip) {
		return &RefusedError{text, reasonNotListed}
	}
	return nil
}

// forbidden returns the places. They are only ever added to.
func (p *Policy) forbidden() []place {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.places
}

// isNamed reports whether a target is one of the place's names.
func (pl *place) isNamed(t target) bool {
	named := func(other target) bool { return other.port == t.port && other.host == t.host }
	if slices.ContainsFunc(pl.targets, named) {
		return true
	}
	return t.host == localhost && (pl.isAt(netip.AddrFrom4([4]byte{127, 0, 0, 1}), t.port) || pl.isAt(netip.IPv6Loopback(), t.port))
}

// isAt reports whether an address is the place's.
func (pl *place) isAt(ip netip.Addr, port uint16) bool {
	for _, t := range pl.targets {
		if t.port == port && t.ip.IsValid() && pl.covers(t.ip, ip) {
			return true
		}
	}
	if pl.Addresses == nil {
		return false
	}
	return slices.ContainsFunc(pl.Addresses(), func(at netip.AddrPort) bool { return at.Port() == port && pl.covers(at.Addr().Unmap(), ip) })
}

func (pl *place) covers(own, ip netip.Addr) bool {
	switch {
	case own == ip:
		return true
	case own.IsUnspecified():
		return isLocal(ip)
	default:
		return pl.Aliased && isLocal(own) && isLocal(ip)
	}
}

// isLocal reports whether an address belongs to this machine. It is rarely called: only if the ports are equal.
func isLocal(ip netip.Addr) bool {
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(addresses, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(network.IP)
		return ok && own.Unmap() == ip.WithZone("")
	})
}
