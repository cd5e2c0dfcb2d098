package httpapi

import (
	"fmt"
	"regexp"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// Namespace is an isolated tenant with its own tokens and data. The token of a call selects the
// namespace. Nothing else in a call can refer to another namespace's data, so operations
// do not know that there are several.
type Namespace struct {
	Name   string   // lower-case letters and digits, at most 32; in the paths of its webhooks
	Tokens []string // at least one; no namespace may share one with another
	Deps   Deps
}

var namespaceName = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// ValidNamespace reports whether text is a valid name of a namespace.
func ValidNamespace(text string) bool { return namespaceName.MatchString(text) }

// check returns an error for an invalid namespace. others are the namespaces before it.
func (n Namespace) check(others map[string]*api) error {
	switch {
	case !ValidNamespace(n.Name):
		return fmt.Errorf("a namespace is called %q: use a lower-case letter and then letters and digits, at most 32", n.Name)
	case others[n.Name] != nil:
		return fmt.Errorf("there are two namespaces called %q", n.Name)
	case len(n.Tokens) == 0:
		return fmt.Errorf("the namespace %q has no token", n.Name)
	}
	if err := n.Deps.Check(); err != nil {
		return fmt.Errorf("namespace %q: %w", n.Name, err)
	}
	return nil
}

// namespaceWebhook serves the webhooks of a namespace. They have no token of the
// service, so their path names the namespace: several may have the same hook token.
func (s *Server) namespaceWebhook(c echo.Context) error {
	if ns := s.namespaces[c.Param("namespace")]; ns != nil {
		return ns.webhook(c)
	}
	request := s.requestOf(c)
	token := request.PathText("token", world.MaxToken)
	if request.Err != nil {
		return request.Err
	}
	return world.HookNotFound(token)
}
