package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

const (
	maxBaseURL = 2048              // bytes
	maxLease   = 30 * 24 * 60 * 60 // seconds
	maxNames   = 64                // in a list of what an app can do

	// attachStart is what an app takes along with a delivery: the answer to run_started.
	attachStart = string(world.EventRunStarted)
)

func (s *Server) registerApp(c echo.Context) error {
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	app, err := readApp(body)
	if err != nil {
		return err
	}
	if err := s.deps.Apps.RegisterApp(c.Request().Context(), app); err != nil {
		return err
	}
	return s.emptyAnswer(c)
}

// unregisterApp serves POST /v1/apps/unregister: an app that stops says good-bye.
func (s *Server) unregisterApp(c echo.Context) error {
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	app, err := readApp(body)
	if err != nil {
		return err
	}
	if err := s.deps.Apps.UnregisterApp(c.Request().Context(), app.BaseURL, app.DeploymentID); err != nil {
		return err
	}
	return s.emptyAnswer(c)
}

func (s *Server) listApps(c echo.Context) error {
	apps, err := s.deps.Apps.ListApps(c.Request().Context())
	if err != nil {
		return err
	}
	e := newEncoder(64 + 256*len(apps))
	o := e.object()
	o.key("data")
	e.array(len(apps))
	for i := range apps {
		writeApp(e, &apps[i])
	}
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

func writeApp(e *encoder, a *world.App) {
	o := e.object()
	o.text("baseUrl", a.BaseURL)
	o.text("deploymentId", a.DeploymentID)
	o.optionalText("sdk", a.SDK)
	o.optionalText("namespace", a.Namespace)
	if a.Attach {
		o.key("attach")
		e.array(1)
		e.text(attachStart)
	}
	o.optionalWhole("leaseSeconds", int(a.Lease/time.Second))
	o.optionalMillis("seenAt", a.SeenAt)
	o.optionalMillis("aliveUntil", a.AliveUntil)
	o.flag("alive", a.Alive)
	o.optionalText("refused", a.Refused)
	o.end()
}

// readApp reads and checks an App; what the registry sets is ignored.
func readApp(o *object) (world.App, error) {
	app := world.App{
		DeploymentID: o.text("deploymentId", maxName),
		SDK:          o.text("sdk", maxResolve),
		Namespace:    o.namespace("namespace"),
		Lease:        o.seconds("leaseSeconds", maxLease),
		Attach:       o.hasName("attach", attachStart),
	}
	base := o.text("baseUrl", maxBaseURL)
	if o.err != nil {
		return app, o.err
	}
	var err error
	if app.BaseURL, err = checkBaseURL(o.path, base); err != nil {
		return app, err
	}
	if app.DeploymentID == "" {
		return app, invalid("%s.deploymentId is missing", o.path)
	}
	if app.SDK != "" && app.SDK != "v4" && app.SDK != "v5" {
		return app, invalid("%s.sdk must be v4 or v5", o.path)
	}
	return app, nil
}

// namespace reads one of queue names; absent is none.
func (o *object) namespace(key string) string {
	ns := o.text(key, maxName)
	if ns != "" && !world.ValidNamespace(ns) {
		o.fail(key, "must be a lower-case letter, then such letters and digits")
	}
	return ns
}

// hasName reports whether a list of texts, which may be absent, has one among them. Others are for
// versions to come.
func (o *object) hasName(key, wanted string) bool {
	if o.get(key) == nil {
		return false
	}
	return slices.Contains(o.texts(key, maxNames, func(string) bool { return true }, "is not text"), wanted)
}

// seconds reads a whole number of seconds; absent is 0.
func (o *object) seconds(key string, most int64) time.Duration {
	n := o.whole(key)
	if n == nil {
		return 0
	}
	if *n < 0 || *n > most {
		o.fail(key, "must be from 0 to "+strconv.FormatInt(most, 10))
		return 0
	}
	return time.Duration(*n) * time.Second
}

// checkBaseURL takes http(s)://host[:port][/base] and takes the trailing slash off.
func checkBaseURL(path, base string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case base == "":
		return "", invalid("%s.baseUrl is missing", path)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "", invalid("%s.baseUrl must be an http:// or https:// address of the app", path)
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return "", invalid("%s.baseUrl must have no user name, query or fragment", path)
	}
	return strings.TrimRight(base, "/"), nil
}
