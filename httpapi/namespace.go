package httpapi

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/budget"
)

// Namespace is a part of the service with callers and data of its own. Which one a call
// is for, its token says; nothing else of a call can name another's data, so handlers
// need not know that there are several.
type Namespace struct {
	Name   string   // lower-case letters and digits, at most 32; in the paths of its webhooks
	Tokens []string // at least one, none of them another's
	Deps   Deps     // the parts that hold its data; what the service has once is not read
}

var namespaceName = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// ValidNamespace reports whether text may name a namespace.
func ValidNamespace(text string) bool { return namespaceName.MatchString(text) }

// addNamespaces builds a server for each: the same handlers on other data. They share the
// listener, the routes, the limits and the end of this one.
func (s *Server) addNamespaces(namespaces []Namespace, process *budget.Pool, share int64) error {
	s.namespaces = make(map[string]*Server, len(namespaces))
	for _, n := range namespaces {
		switch {
		case !ValidNamespace(n.Name):
			return fmt.Errorf("a namespace is called %q: use a lower-case letter and then letters and digits, at most 32", n.Name)
		case s.namespaces[n.Name] != nil:
			return fmt.Errorf("there are two namespaces called %q", n.Name)
		case len(n.Tokens) == 0:
			return fmt.Errorf("the namespace %q has no token", n.Name)
		}
		if err := n.Deps.check(); err != nil {
			return fmt.Errorf("namespace %q: %w", n.Name, err)
		}
		part := &Server{
			cfg: s.cfg, deps: n.Deps, bundled: s.bundled, log: s.log, keepAlive: s.keepAlive, patience: s.patience, retireGrace: s.retireGrace, codec: s.codec, proxy: s.proxy,
			roomPatience: s.roomPatience, pool: process.Part(share), crew: s.crew, sockets: s.sockets, draining: s.draining,
		}
		part.live = newLiveRoom(part.pool)
		part.deps.Observe, part.deps.NewRequestID = s.deps.Observe, s.deps.NewRequestID
		part.cfg.BaseURL = "" // an app of the default namespace
		part.setDefaults()
		if err := s.auth.add(n.Tokens, part); err != nil {
			return err
		}
		s.namespaces[n.Name] = part
	}
	return nil
}

func (d Deps) check() error {
	if d.Store == nil || d.Queue == nil || d.Apps == nil || d.Streams == nil {
		return errors.New("httpapi needs a Store, a Queue, an AppRegistry and a StreamStore")
	}
	return nil
}

// namespaceWebhook serves the webhooks of a namespace. They come without a token of the
// service, so their path names it: the same hook token may be held in several.
func (s *Server) namespaceWebhook(c echo.Context) error {
	if part := s.namespaces[c.Param("namespace")]; part != nil {
		return part.webhook(c)
	}
	request := s.requestOf(c)
	token := request.pathText("token", maxToken)
	if request.err != nil {
		return request.err
	}
	return world.HookNotFound(token)
}
