package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis/cmd/internal/httpproxy"
)

// serviceTimeout limits one call of a command to the service.
const serviceTimeout = time.Minute

// exitAway is the exit code if the service cannot be reached.
const exitAway = 2

// awayError means that nothing answers at the address.
type awayError struct {
	url   string
	cause error
}

func (e *awayError) Error() string {
	return fmt.Sprintf("no world-redis answers at %s (is it running? see --url): %v", e.url, e.cause)
}

func (e *awayError) Unwrap() error { return e.cause }

// service is the running world-redis that a command calls.
type service struct {
	url, token string
	asJSON     bool
	client     *http.Client // that keeps its connections; nil: each call has its own
}

// flags adds the flags of every command that calls the service.
func (s *service) flags(cmd *cobra.Command) {
	address := os.Getenv("WORKFLOW_WORLD_URL")
	if address == "" {
		address = "http://127.0.0.1:8787"
	}
	f := cmd.PersistentFlags()
	f.StringVar(&s.url, "url", address, "address of the service; default WORKFLOW_WORLD_URL")
	f.StringVar(&s.token, "token", "", "bearer token; default WORKFLOW_WORLD_TOKEN, the first of several")
	f.BoolVar(&s.asJSON, "json", false, "print the service's answer as JSON")
}

// call makes one request and returns the body of its answer.
func (s *service) call(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	base, err := url.Parse(s.url)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("the address %q is not http(s)://host[:port]: set --url or WORKFLOW_WORLD_URL", s.url)
	}
	target := strings.TrimRight(s.url, "/") + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		content = bytes.NewReader(encoded)
	}
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, fmt.Errorf("the address %q cannot be called: %w", s.url, err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token := s.bearer(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := s.client
	if client == nil {
		if client, err = newServiceClient(false); err != nil {
			return nil, err
		}
	}
	res, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, &awayError{url: s.url, cause: err}
	}
	defer res.Body.Close() //nolint:errcheck // it was read completely, or an error is returned
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer of %s is incomplete: %w", s.url, err)
	}
	return answer, refusal(res, answer)
}

func newServiceClient(keepAlive bool) (*http.Client, error) {
	proxy, err := httpproxy.Parse(os.Getenv(httpproxy.Variable))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{Proxy: proxy, DisableKeepAlives: !keepAlive, MaxIdleConnsPerHost: deletesAtOnce}
	return &http.Client{Transport: transport}, nil
}

// keepAlive makes further calls share connections, until the returned function is called.
func (s *service) keepAlive() (end func()) {
	client, err := newServiceClient(true)
	if err != nil {
		return func() {} // each call says so
	}
	s.client = client
	return func() {
		s.client = nil
		client.CloseIdleConnections()
	}
}

// patience is how long callPatiently repeats a call, and the first of its pauses, which double.
const (
	patience   = 20 * time.Second
	firstPause = 250 * time.Millisecond
)

// callPatiently is call for one call of many: it is repeated while the service is overloaded, restarts, or waits for Redis. The
// call must do no harm when it is repeated.
func (s *service) callPatiently(ctx context.Context, method, path string, body any) ([]byte, error) {
	until := time.Now().Add(patience)
	for pause := firstPause; ; pause *= 2 {
		answer, err := s.call(ctx, method, path, nil, body)
		var refused *callError
		var away *awayError
		again := errors.As(err, &away) || errors.As(err, &refused) && refused.temporary()
		if !again || time.Now().Add(pause).After(until) || mayBegin(ctx) != nil {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// callError is an answer other than 200.
type callError struct {
	status int
	text   string
}

func (e *callError) Error() string { return e.text }

// temporary reports whether the same call may succeed later.
func (e *callError) temporary() bool {
	switch e.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

func (s *service) bearer() string {
	token := s.token
	if token == "" {
		token, _, _ = strings.Cut(os.Getenv("WORKFLOW_WORLD_TOKEN"), ",")
	}
	return strings.TrimSpace(token)
}

// refusal turns an answer other than 200 into an error.
func refusal(res *http.Response, answer []byte) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	var body struct {
		Error struct{ Message, Code, RunID string }
	}
	text := fmt.Sprintf("the service answers %s", res.Status)
	if json.Unmarshal(answer, &body) == nil && body.Error.Message != "" {
		text = body.Error.Message
	}
	if body.Error.Code == "run_not_found" {
		text = "no such run: " + body.Error.RunID
	}
	if res.StatusCode == http.StatusUnauthorized {
		text += " (set --token or WORKFLOW_WORLD_TOKEN)"
	}
	return &callError{res.StatusCode, text}
}
