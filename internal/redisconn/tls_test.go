package redisconn_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis/internal/redisconn"
	"github.com/world-redis/world-redis/internal/redistest"
)

// authority is a CA that issues certificates into files.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// issue writes NAME.crt and NAME.key. The first certificate is the CA's own.
func (a *authority) issue(name string, template *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if a.cert == nil {
		a.cert, a.key = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	if a.cert == template {
		a.cert, err = x509.ParseCertificate(der)
		require.NoError(a.t, err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	write := func(file, kind string, bytes []byte) {
		require.NoError(a.t, os.WriteFile(a.file(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
	}
	write(name+".crt", "CERTIFICATE", der)
	write(name+".key", "PRIVATE KEY", secret)
}

// secured returns the settings of a redis-server that accepts only TLS, and asks its clients for certificates.
func (a *authority) secured(name string, port int) [][2]string {
	return [][2]string{
		{"tls-port", fmt.Sprint(port)},
		{"tls-replication", "yes"},
		{"tls-ca-cert-file", a.file("ca.crt")},
		{"tls-cert-file", a.file(name + ".crt")},
		{"tls-key-file", a.file(name + ".key")},
	}
}

// The Sentinel's certificate is for one name and its master's for another. Both ask for a client certificate, of a CA
// that the system does not know, and for different passwords.
func TestOpenThroughSentinelsWithTLSAndPasswords(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	a.issue("master", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: both})
	a.issue("sentinel", &x509.Certificate{DNSNames: []string{"localhost"}, ExtKeyUsage: both})
	a.issue("client", &x509.Certificate{ExtKeyUsage: both})
	masterPort, sentinelPort := redistest.FreePort(t), redistest.FreePort(t)
	master := fmt.Sprintf("127.0.0.1:%d", masterPort)
	args, lines := []string{"--requirepass", "of-redis"}, []string{"requirepass of-sentinels", "sentinel auth-pass " + redistest.SentinelMaster + " of-redis"}
	for _, s := range a.secured("master", masterPort) {
		args = append(args, "--"+s[0], s[1])
	}
	for _, s := range a.secured("sentinel", sentinelPort) {
		lines = append(lines, s[0]+" "+s[1])
	}
	redistest.Start(t, args...)
	redistest.StartSentinelOf(t, master, lines...)

	full := url.Values{
		"master": {redistest.SentinelMaster}, "sentinel_password": {"of-sentinels"},
		"tls_ca": {a.file("ca.crt")}, "tls_cert": {a.file("client.crt")}, "tls_key": {a.file("client.key")},
	}
	address := func(without ...string) string {
		query := url.Values{}
		for name, values := range full {
			if !slices.Contains(without, name) {
				query[name] = values
			}
		}
		return fmt.Sprintf("rediss+sentinel://:of-redis@localhost:%d/0?%s", sentinelPort, query.Encode())
	}
	c, err := redisconn.Open(t.Context(), address())
	require.NoError(t, err)
	require.NoError(t, c.Client.Set(t.Context(), "k", "v", 0).Err())
	require.NotContains(t, c.Address, "of-sentinels")
	require.NoError(t, c.Close())

	for what, wrong := range map[string]string{
		"the password of the Sentinels": address("sentinel_password"),
		"the authority":                 address("tls_ca"),
		"the client certificate":        address("tls_cert", "tls_key"),
		"the names of the hosts":        address() + "&tls_server_name=elsewhere",
	} {
		_, err := redisconn.Open(t.Context(), wrong)
		require.ErrorContains(t, err, "no Redis answers", what)
		require.NotContains(t, err.Error(), "of-sentinels", what)
	}
	c, err = redisconn.Open(t.Context(), "rediss://:of-redis@"+master+"?"+
		url.Values{"tls_ca": full["tls_ca"], "tls_cert": full["tls_cert"], "tls_key": full["tls_key"]}.Encode())
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

func TestAddressesWithWrongTLSOptions(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	require.NoError(t, os.WriteFile(a.file("none.crt"), []byte("no PEM"), 0o600))
	for address, want := range map[string]string{
		"redis://127.0.0.1:1?tls_ca=" + a.file("ca.crt"):                  "need TLS",
		"rediss://127.0.0.1:1?tls_ca=" + a.file("missing"):                "tls_ca: open",
		"rediss://127.0.0.1:1?tls_ca=" + a.file("none.crt"):               "contains no PEM certificate",
		"rediss+cluster://127.0.0.1:1?tls_cert=" + a.file("ca.crt"):       "one of them is missing",
		"rediss://127.0.0.1:1?tls_cert=" + a.file("ca.crt") + "&tls_key=": "one of them is missing",
		"rediss://127.0.0.1:1?tls_key=/x&tls_cert=" + a.file("ca.crt"):    "tls_cert, tls_key: open /x",
		"redis+cluster://127.0.0.1:1/3":                                   "a cluster has only database 0, not 3",
		"redis+cluster://127.0.0.1:1?master=x":                            "unexpected option: master",
	} {
		_, err := redisconn.Open(t.Context(), address)
		require.ErrorContains(t, err, want, address)
	}
}
