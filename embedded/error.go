package embedded

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"

	"github.com/world-redis/world-redis/internal/dialpolicy"
)

// explain describes why an app gave no answer.
func explain(target, via string, err error, connected bool) string {
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	refused := new(dialpolicy.RefusedError)
	if errors.As(err, &refused) {
		return fmt.Sprintf("POST %s: %s", through(target, via), refused)
	}
	why := cause(err, connected)
	if via != "" && !connected && !errors.Is(err, context.Canceled) {
		why = causeAtProxy(err)
	}
	return fmt.Sprintf("POST %s: %v: %s", through(target, via), err, why)
}

func cause(err error, connected bool) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "the service ended the delivery"
	case errors.As(err, &dns):
		return "the name of the app's host cannot be resolved here; correct WORKFLOW_BASE_URL"
	case errors.As(err, &cert), errors.As(err, &authority):
		return "the app's certificate is not trusted here; add its CA (WORKFLOW_WORLD_APP_CA)"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there; has the app started, and is WORKFLOW_BASE_URL its address?"
	case connected && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)):
		return "the app closed the connection without an answer; has it ended or crashed?"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the app does not accept connections; is there a firewall in between, or is the host down?"
	default:
		return "the app could not be reached"
	}
}

// causeAtProxy describes why a proxy made no connection.
func causeAtProxy(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		return "the proxy cannot be reached; is WORKFLOW_WORLD_PROXY its address?"
	}
	return "the proxy did not connect the service to the app; allow it there, or change WORKFLOW_WORLD_PROXY"
}
