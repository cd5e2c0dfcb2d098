package dialpolicy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Variable is the name of the setting.
const Variable = "WORKFLOW_WORLD_APP_HOSTS"

// Hosts are the hosts where apps may run. The zero value allows any.
type Hosts struct {
	narrow   bool // there is a list
	all      bool // the list has an asterisk
	names    []string
	suffixes []string // with the leading dot
	exact    []netip.Addr
	networks []netip.Prefix
}

// ParseHosts reads the setting: names, *.names, addresses and networks, separated by commas. An asterisk allows every
// host, so that a link-local address can be added to all others.
func ParseHosts(setting string) (Hosts, error) {
	var h Hosts
	i := 0
	for entry := range strings.SplitSeq(setting, ",") {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if entry == "" {
			continue
		}
		i++
		h.narrow = true
		bare := strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]")
		suffix, wild := strings.CutPrefix(entry, "*.")
		switch ip, err := netip.ParseAddr(bare); {
		case err == nil:
			h.exact = append(h.exact, ip.Unmap())
		case entry == "*":
			h.all = true
		case wild && isName(suffix):
			h.suffixes = append(h.suffixes, "."+suffix)
		case isName(strings.TrimSuffix(entry, ".")):
			h.names = append(h.names, strings.TrimSuffix(entry, "."))
		default:
			network, err := netip.ParsePrefix(entry)
			if err != nil {
				return Hosts{}, fmt.Errorf("%s: entry %d is %.100q: use names (app.example, *.example), addresses (10.0.0.5) and networks (10.0.0.0/8), without ports", Variable, i, entry)
			}
			h.networks = append(h.networks, network.Masked())
		}
	}
	return h, nil
}

// takesName reports whether a name is listed.
func (h *Hosts) takesName(name string) bool {
	return !h.narrow || h.all || slices.Contains(h.names, name) ||
		slices.ContainsFunc(h.suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// takesAddress reports whether an address is listed, by itself or in a network.
func (h *Hosts) takesAddress(ip netip.Addr) bool {
	return !h.narrow || h.all || h.isExact(ip) ||
		slices.ContainsFunc(h.networks, func(network netip.Prefix) bool { return network.Contains(ip.WithZone("")) })
}

// isExact reports whether this very address is listed. An entry without a zone applies to all zones.
func (h *Hosts) isExact(ip netip.Addr) bool {
	return slices.Contains(h.exact, ip) || slices.Contains(h.exact, ip.WithZone(""))
}

// hasAddresses reports whether a name that is not listed may resolve to a listed address.
func (h *Hosts) hasAddresses() bool { return len(h.exact) > 0 || len(h.networks) > 0 }
