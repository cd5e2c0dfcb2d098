package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/httpbody"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// webhookTarget is where a webhook request is forwarded to. It is in the context of the request.
type webhookTarget struct {
	base  *url.URL
	token string
	c     echo.Context
}

type webhookTargetKey struct{}

// webhookProxy forwards webhook requests to apps. The hook's token authorises
// the caller, so the route needs no other.
type webhookProxy struct {
	*shared
	auth  *authenticator // its tokens are not forwarded to apps
	proxy *httputil.ReverseProxy
	own   *http.Transport // nil when the transport was given
}

func newWebhookProxy(s *shared, auth *authenticator, cfg Config) *webhookProxy {
	p := &webhookProxy{shared: s, auth: auth}
	transport := cfg.Webhook
	if transport == nil {
		p.own = &http.Transport{Proxy: cfg.AppProxy, DialContext: cfg.AppDial, MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute, DisableCompression: true, ForceAttemptHTTP2: true}
		p.own.TLSClientConfig = &tls.Config{RootCAs: cfg.AppCAs, MinVersion: tls.VersionTLS12}
		transport = p.own
	}
	p.proxy = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		ModifyResponse: p.limitAnswer,
		Transport:      transport, // a RoundTripper follows no redirects
		ErrorLog:       slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		ErrorHandler:   p.failed,
	}
	return p
}

func (p *webhookProxy) close() {
	if p.own != nil {
		p.own.CloseIdleConnections()
	}
}

func (a *api) webhook(c echo.Context) error {
	request := a.requestOf(c)
	token := request.PathText("token", world.MaxToken)
	if request.Err != nil {
		return request.Err
	}
	base, err := a.appOfHook(c.Request().Context(), token)
	if err != nil {
		return err
	}
	r := c.Request()
	body := a.Steady(c)
	defer body.Done()
	r.Body = http.MaxBytesReader(c.Response(), passedBody{body}, a.MaxBody)
	target := &webhookTarget{base: base, token: token, c: c}
	a.proxy.proxy.ServeHTTP(c.Response(), r.WithContext(context.WithValue(r.Context(), webhookTargetKey{}, target)))
	return nil
}

// appOfHook returns the address of the app that gets the webhooks of a hook.
func (a *api) appOfHook(ctx context.Context, token string) (*url.URL, error) {
	hook, err := a.ops.Deps.Store.GetHookByToken(ctx, token, true)
	if err != nil {
		return nil, err
	}
	run, err := a.ops.Deps.Store.GetRun(ctx, hook.RunID, true)
	if err != nil {
		return nil, err
	}
	apps, err := a.ops.Deps.Apps.ListApps(ctx)
	if err != nil {
		return nil, err
	}
	known := len(apps)
	apps = slices.DeleteFunc(apps, func(a world.App) bool { return a.Refused != "" })
	chosen := chooseApp(apps, run.DeploymentID, a.baseURL)
	switch {
	case chosen == "" && known > 0:
		return nil, world.Errorf(world.CodeUnavailable, "this service does not connect to any app that is registered to take this webhook; GET /v1/apps says why")
	case chosen == "":
		return nil, world.Errorf(world.CodeUnavailable, "no app is registered to take this webhook; start the app, or set WORKFLOW_BASE_URL")
	}
	base, err := url.Parse(chosen)
	if err != nil {
		return nil, world.Wrap(world.CodeInternal, err, "the base URL of an app is malformed")
	}
	return base, nil
}

// chooseApp prefers the newest live app of the run's deployment, then the newest of that deployment, then the newest
// live app, which may be its successor, then the newest app, then the configured one.
func chooseApp(apps []world.App, deploymentID, configured string) string {
	ofRun := func(a world.App) bool { return a.DeploymentID == deploymentID }
	for _, fits := range []func(world.App) bool{
		func(a world.App) bool { return ofRun(a) && a.Alive }, ofRun,
		func(a world.App) bool { return a.Alive }, func(world.App) bool { return true },
	} {
		if i := slices.IndexFunc(apps, fits); i >= 0 {
			return apps[i].BaseURL
		}
	}
	return configured
}

func (p *webhookProxy) rewrite(r *httputil.ProxyRequest) {
	target, ok := r.In.Context().Value(webhookTargetKey{}).(*webhookTarget)
	if !ok {
		return // unreachable: webhook sets it
	}
	const path = "/.well-known/workflow/v1/webhook/"
	u := *target.base
	u.RawPath = strings.TrimRight(u.EscapedPath(), "/") + path + url.PathEscape(target.token)
	u.Path = strings.TrimRight(u.Path, "/") + path + target.token
	u.RawQuery = r.In.URL.RawQuery
	r.Out.URL = &u
	r.Out.Host = u.Host
	r.Out.Header.Set(world.HeaderHops, strconv.Itoa(input.HopsOf(r.In.Header)+1))
	// A webhook is one request and one answer, so it cannot become a tunnel to the app.
	r.Out.Header.Del("Connection")
	r.Out.Header.Del("Upgrade")
	// Keep what earlier proxies said about the client, and add this service.
	r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	r.SetXForwarded()
	if _, ours := p.auth.owner(r.In.Header.Get(echo.HeaderAuthorization)); ours {
		r.Out.Header.Del(echo.HeaderAuthorization) // our secret, not the app's
	}
}

// limitAnswer refuses an app's answer that switches protocols or is too large. An answer that turns out to be too large later
// is cut off.
func (p *webhookProxy) limitAnswer(answer *http.Response) error {
	limit := p.MaxBody
	switch {
	case answer.StatusCode == http.StatusSwitchingProtocols:
		return &answerError{"the app answered the webhook with another protocol (101), which is not supported"}
	case answer.ContentLength > limit && answer.Request.Method != http.MethodHead:
		return &answerError{fmt.Sprintf("the app's answer to the webhook has %d bytes, the limit is %d (WORKFLOW_WORLD_MAX_BODY)", answer.ContentLength, limit)}
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, limit)
	return nil
}

// answerError says why an answer of an app is not forwarded, in words for the caller.
type answerError struct{ text string }

// Error implements error.
func (e *answerError) Error() string { return e.text }

// passedBody is the body of a webhook that is forwarded. Its deadline is removed at its end, because the app may take long
// to answer.
type passedBody struct{ httpbody.SteadyReader }

// Read implements io.Reader.
func (b passedBody) Read(p []byte) (int, error) {
	n, err := b.SteadyReader.Read(p)
	if err != nil {
		b.Done()
	}
	return n, err
}

// failed answers a webhook that could not be forwarded.
func (p *webhookProxy) failed(_ http.ResponseWriter, r *http.Request, cause error) {
	target, ok := r.Context().Value(webhookTargetKey{}).(*webhookTarget)
	if !ok {
		return // unreachable: webhook sets it
	}
	var overLimit *http.MaxBytesError
	var notPassed *answerError
	var refused interface{ DialRefused() bool }
	var refusal *world.Error
	switch {
	case errors.As(cause, &overLimit):
		refusal = refuse.TooLarge(r.ContentLength, overLimit.Limit)
	case errors.As(cause, &notPassed):
		refusal = world.Errorf(world.CodeUnavailable, "%s", notPassed.text)
	case errors.As(cause, &refused) && refused.DialRefused():
		refusal = world.Errorf(world.CodeUnavailable, "this service does not connect to the app that owns this hook; its log says why")
		p.Log.Warn("a webhook was not forwarded: the service may not connect to its app",
			slog.String("app", target.base.Redacted()), slog.String("error", fmt.Sprint(cause)))
	default:
		refusal = world.Wrap(world.CodeUnavailable, cause, "the app that owns this hook could not be reached; try again")
		if r.Context().Err() == nil {
			p.Log.Warn("a webhook could not be forwarded; check that its app runs",
				slog.String("app", target.base.Redacted()), slog.String("error", fmt.Sprint(cause)))
		}
	}
	p.handleError(refusal, target.c)
}
