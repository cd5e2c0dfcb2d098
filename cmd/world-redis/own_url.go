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

// printedURL returns a URL that can be pasted, of a service that is to listen on an address and is bound to another: its
// port may have been free to choose, and Go binds 0.0.0.0 as [::].
func printedURL(listen, bound string) string {
	host, _, err := net.SplitHostPort(listen)
	_, port, boundErr := net.SplitHostPort(bound)
	if err != nil || boundErr != nil || !everywhere(listen) {
		return "http://" + bound
	}
	urls, err := ownURLs(net.JoinHostPort(host, port))
	if err != nil {
		return "http://" + bound
	}
	return urls[0]
}

// everywhere reports whether an address to listen on means every address of the machine.
func everywhere(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && (host == "" || host == "0.0.0.0" || host == "::")
}
