package redisconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tlsFiles are the options of an address with TLS. The files contain PEM.
type tlsFiles struct {
	ca         string // tls_ca: the CAs for Redis's certificate, instead of the system's
	cert, key  string // tls_cert, tls_key: the client certificate that Redis requires, and its key; read at each connection, so that a new certificate needs no restart
	serverName string // tls_server_name: the name in the certificates, if it is not the host of each
}

// apply adjusts go-redis's settings for the address. go-redis uses the first of several hosts as the name for all;
// without a name, each certificate is checked against the host that was dialled.
func (f tlsFiles) apply(c *tls.Config, several bool) error {
	if several {
		c.ServerName = ""
	}
	if f.serverName != "" {
		c.ServerName = f.serverName
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return fmt.Errorf("tls_ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("tls_ca: the file %s contains no PEM certificate", f.ca)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return errors.New("tls_cert and tls_key must be set together: one of them is missing")
	}
	if f.cert == "" {
		return nil
	}
	if _, err := f.pair(); err != nil {
		return err
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return f.pair() }
	return nil
}

func (f tlsFiles) pair() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("tls_cert, tls_key: %w", err)
	}
	return &pair, nil
}
