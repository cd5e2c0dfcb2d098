package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// authenticator has the hashes of the tokens. They have equal lengths, so comparing them takes
// the same time for any input.
type authenticator struct {
	tokens  []tokenHash
	origins *http.CrossOriginProtection
}

// tokenHash lets its holder call one namespace.
type tokenHash struct {
	hash [sha256.Size]byte
	ns   *api
}

func newAuthenticator() *authenticator {
	return &authenticator{origins: http.NewCrossOriginProtection()}
}

// add adds the tokens of a namespace. No other namespace may have one of them.
func (a *authenticator) add(tokens []string, ns *api) error {
	for _, t := range tokens {
		hash := sha256.Sum256([]byte(t))
		if slices.ContainsFunc(a.tokens, func(other tokenHash) bool { return other.hash == hash && other.ns != ns }) {
			return errors.New("two namespaces have the same token")
		}
		a.tokens = append(a.tokens, tokenHash{hash, ns})
	}
	return nil
}

// owner returns the namespace of the token in an Authorization header; known is false if the token is
// unknown. It compares all tokens, even after a match, so that the time says nothing.
func (a *authenticator) owner(authorization string) (ns *api, known bool) {
	scheme, token, found := strings.Cut(authorization, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return nil, false
	}
	sent := sha256.Sum256([]byte(strings.TrimSpace(token)))
	for _, t := range a.tokens {
		if subtle.ConstantTimeCompare(sent[:], t.hash[:]) == 1 {
			ns, known = t.ns, true
		}
	}
	return ns, known
}

// checkHost refuses a call whose Host is not loopback if the service has no token. A web page can make its own domain name
// resolve to a loopback address, so that its browser takes the service for the page's server (DNS rebinding). The
// Host header still has that name.
func (s *Server) checkHost(r *http.Request) error {
	if len(s.auth.tokens) > 0 || isLoopback(hostOnly(r.Host)) {
		return nil
	}
	return world.Errorf(refuse.CodeForbidden, "this service has no token, so it answers only calls of localhost and not of %.200q; to call it by another name, set WORKFLOW_WORLD_TOKEN on both sides", r.Host)
}

// hostOnly returns a Host header without its port.
func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// callerOf returns the namespace of a call's token. If the service has no
// tokens, every call is for the default namespace, except those of web pages of other origins: a
// browser on this machine can reach loopback addresses, too.
func (s *Server) callerOf(c echo.Context) (*api, error) {
	r := c.Request()
	if len(s.auth.tokens) == 0 {
		if err := s.auth.origins.Check(r); err != nil {
			return nil, world.Wrap(world.CodeUnauthorized, err, "web pages of another origin may not call this service")
		}
		return s.main, nil
	}
	header := r.Header.Get(echo.HeaderAuthorization)
	if owner, known := s.auth.owner(header); known {
		return owner, nil
	}
	c.Response().Header().Set(echo.HeaderWWWAuthenticate, "Bearer")
	if header == "" {
		return nil, world.Errorf(world.CodeUnauthorized, "this service needs a token: send Authorization: Bearer <token>")
	}
	return nil, world.Errorf(world.CodeUnauthorized, "the token is not one of this service's")
}
