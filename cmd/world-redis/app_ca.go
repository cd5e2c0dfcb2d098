package main

import (
	"crypto/x509"
	"fmt"
	"os"
)

// appCAs returns the CAs trusted for apps' certificates; nil means the system's.
func (c config) appCAs() (*x509.CertPool, error) {
	if c.AppCA == "" {
		return nil, nil //nolint:nilnil // crypto/tls's value for the system's CAs
	}
	certificates, err := os.ReadFile(c.AppCA)
	if err != nil {
		return nil, fmt.Errorf("WORKFLOW_WORLD_APP_CA cannot be read: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a container without CAs
	}
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, fmt.Errorf("WORKFLOW_WORLD_APP_CA names %s, which contains no PEM certificate", c.AppCA)
	}
	return pool, nil
}
