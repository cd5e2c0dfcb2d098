package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// authenticator holds the hashes of the tokens: equal lengths, so that comparing takes
// the same time whatever is sent.
type authenticator struct {
	hashes  [][sha256.Size]byte
	origins *http.CrossOriginProtection
}

func newAuthenticator(tokens []string) authenticator {
	a := authenticator{origins: http.NewCrossOriginProtection()}
	for _, t := range tokens {
		a.hashes = append(a.hashes, sha256.Sum256([]byte(t)))
	}
	return a
}

// holds reports whether the Authorization header carries one of the tokens. Every token
// is compared, whether or not an earlier one matched.
func (a authenticator) holds(authorization string) bool {
	scheme, token, found := strings.Cut(authorization, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	sent := sha256.Sum256([]byte(strings.TrimSpace(token)))
	match := 0
	for _, h := range a.hashes {
		match |= subtle.ConstantTimeCompare(sent[:], h[:])
	}
	return match == 1
}

// requireToken lets a call through with a token, or, when the service has none, unless a
// foreign web page makes it: a browser on this machine reaches loopback addresses too.
func (s *Server) requireToken(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if len(s.auth.hashes) == 0 {
			if err := s.auth.origins.Check(r); err != nil {
				return world.Wrap(world.CodeUnauthorized, err, "web pages of another origin may not call this service")
			}
			return next(c)
		}
		header := r.Header.Get(echo.HeaderAuthorization)
		if s.auth.holds(header) {
			return next(c)
		}
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, "Bearer")
		if header == "" {
			return world.Errorf(world.CodeUnauthorized, "this service needs a token: send Authorization: Bearer <token>")
		}
		return world.Errorf(world.CodeUnauthorized, "the token is not one of this service's")
	}
}
