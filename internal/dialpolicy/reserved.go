package dialpolicy

import (
	"net/netip"
	"slices"
	"strings"
)

// metadata are the addresses at which clouds give a machine its metadata, including credentials. No app runs there.
var metadata = parsed(
	"169.254.169.254", // AWS, Azure, Google, Oracle, DigitalOcean, Hetzner, OpenStack and others
	"fd00:ec2::254",   // AWS
	"169.254.170.2",   // AWS: credentials of ECS tasks
	"169.254.170.23",  // AWS: credentials of EKS pods
	"fd00:ec2::23",    // the same
	"fd20:ce::254",    // Google
	"168.63.129.16",   // Azure: the host's agent
	"100.100.100.200", // Alibaba
	"192.0.0.192",     // Oracle
	"fd00:c1::a9fe:a9fe",
	"169.254.0.23",  // Tencent
	"169.254.42.42", // Scaleway
	"fd00:42::42",
	"fe80::a9fe:a9fe", // OpenStack
)

// metadataNames are names of these addresses. They matter if an HTTP proxy resolves the name.
var metadataNames = []string{
	"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal", "metadata.tencentyun.com",
}

func parsed(addresses ...string) []netip.Addr {
	out := make([]netip.Addr, 0, len(addresses))
	for _, a := range addresses {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func isMetadata(ip netip.Addr) bool { return slices.Contains(metadata, ip.WithZone("")) }

func isMetadataName(host string) bool {
	return slices.Contains(metadataNames, host) || strings.HasSuffix(host, ".metadata.google.internal")
}

// carriers are the IPv6 networks whose addresses contain an IPv4 address, with the byte at which it begins.
var carriers = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible, except ::1 and ::
}

// carried returns the IPv4 address in an IPv6 address.
func carried(ip netip.Addr) (netip.Addr, bool) {
	const lowest = 1 << 8 // ::1 and its neighbours are not IPv4 addresses
	bytes := ip.As16()
	for _, c := range carriers {
		if !ip.Is6() || !c.network.Contains(ip.WithZone("")) {
			continue
		}
		v4 := netip.AddrFrom4([4]byte(bytes[c.at : c.at+4]))
		if b := v4.As4(); int(b[0])<<24|int(b[1])<<16|int(b[2])<<8|int(b[3]) >= lowest {
			return v4, true
		}
	}
	return netip.Addr{}, false
}
