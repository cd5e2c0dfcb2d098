package main

import (
	"fmt"
	"net"
)

// ownURLs returns the URLs by which this machine reaches a service that listens on an address, the best one first. A
// service that listens on every address is reached by loopback; one that listens on every address of IPv6 accepts
// IPv4, too, unless the machine says otherwise.
func ownURLs(listen string) ([]string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "" {
		return nil, fmt.Errorf("%q is not host:port", listen)
	}
	hosts := []string{host}
	switch host {
	case "0.0.0.0":
		hosts = []string{"127.0.0.1"}
	case "":
		hosts = []string{"127.0.0.1", "::1"}
	case "::":
		hosts = []string{"::1", "127.0.0.1"}
	}
	urls := make([]string, len(hosts))
	for i, h := range hosts {
		urls[i] = "http://" + net.JoinHostPort(h, port)
	}
	return urls, nil
}
