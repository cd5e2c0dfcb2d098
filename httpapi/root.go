package httpapi

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis/internal/wire"
)

// documents is where the documents are.
const documents = "https://github.com/world-redis/world-redis#readme"

// root says what answers here, and where to look. It needs no token, so it names the version only to a caller with one,
// or if the service has none, so that only this machine can call it.
func (s *Server) root(c echo.Context) error {
	version := ""
	if _, known := s.auth.owner(c.Request().Header.Get(echo.HeaderAuthorization)); known || len(s.auth.tokens) == 0 {
		version = s.cfg.Version
	}
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderAccept)
	if wantsPage(c.Request()) {
		return rootPage(c, version)
	}
	e := wire.NewEncoder(256)
	o := e.Object()
	o.Text("service", "world-redis")
	o.OptionalText("version", version)
	o.Text("about", "a World for the Workflow SDK; apps reach it by WORKFLOW_WORLD_URL")
	o.Text("documents", documents)
	o.Text("openapi", "/openapi.json")
	o.Text("alive", "/healthz")
	o.Text("ready", "/readyz")
	o.End()
	return s.Answer(c, http.StatusOK, e.Bytes)
}

// wantsPage reports whether the caller is a browser that loads a page.
func wantsPage(r *http.Request) bool {
	return strings.Contains(strings.ToLower(r.Header.Get(echo.HeaderAccept)), "text/html")
}

var page = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>world-redis</title>
<h1>world-redis{{with .Version}} {{.}}{{end}}</h1>
<p>A World for the Workflow SDK. Apps reach it by <code>WORKFLOW_WORLD_URL</code>; it has no pages of its own.</p>
<ul>
<li><a href="{{.Documents}}">Documents</a>
<li><a href="/readyz">/readyz</a>: whether it is ready; <a href="/healthz">/healthz</a>: whether it runs
<li><a href="/openapi.json">/openapi.json</a>: its API
</ul>
<p>To look at runs, use the SDK's own page, in the app's folder: <code>npx workflow web --backend @world-redis/client</code></p>
</html>
`))

func rootPage(c echo.Context, version string) error {
	var b bytes.Buffer
	if err := page.Execute(&b, struct{ Version, Documents string }{version, documents}); err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
	return c.HTMLBlob(http.StatusOK, b.Bytes())
}
