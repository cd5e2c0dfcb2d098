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

// authenticator holds the hashes of the tokens: equal lengths, so that comparing takes
// the same time whatever is sent.
type authenticator struct {
	tokens  []tokenHash
	origins *http.CrossOriginProtection
}

// tokenHash lets its holder call one namespace.
type tokenHash struct {
	hash [sha256.Size]byte
	part *api
}

func newAuthenticator() *authenticator {
	return &authenticator{origins: http.NewCrossOriginProtection()}
}

// add gives a namespace its tokens, which must not be another's already.
func (a *authenticator) add(tokens []string, part *api) error {
	for _, t := range tokens {
		hash := sha256.Sum256([]byte(t))
		if slices.ContainsFunc(a.tokens, func(other tokenHash) bool { return other.hash == hash && other.part != part }) {
			return errors.New("two namespaces have the same token")
		}
		a.tokens = append(a.tokens, tokenHash{hash, part})
	}
	return nil
}

// owner returns the namespace of the token in an Authorization header; known is false when it has
// none of ours. Every token is compared, whether or not an earlier one matched.
func (a *authenticator) owner(authorization string) (part *api, known bool) {
	scheme, token, found := strings.Cut(authorization, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return nil, false
	}
	sent := sha256.Sum256([]byte(strings.TrimSpace(token)))
	for _, t := range a.tokens {
		if subtle.ConstantTimeCompare(sent[:], t.hash[:]) == 1 {
			part, known = t.part, true
		}
	}
	return part, known
}

// checkHost refuses a call of a service without a token whose Host is not loopback. A web page can have its own name
// resolve to a loopback address, and its browser then takes the service for the page's own server (DNS rebinding); the
// Host still says the name.
func (s *Server) checkHost(r *http.Request) error {
	if len(s.auth.tokens) > 0 || isLoopback(hostOnly(r.Host)) {
		return nil
	}
	return world.Errorf(refuse.CodeForbidden, "this service has no token, so it answers only calls of localhost and not of %.200q; to call it by another name, set WORKFLOW_WORLD_TOKEN on both sides", r.Host)
}

// hostOnly is the host of a Host header, without its port.
func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// callerOf finds the namespace that a call is for by its token. When the service has no
// token at all, every call is for the default one, unless a foreign web page makes it: a
// browser on this machine reaches loopback addresses too.
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
