package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/dialpolicy"
)

// Check asks an app's flow route whether an app with the Workflow SDK is there. It returns what is wrong, worded like
// a delivery's reason. It delivers nothing: the SDK answers a request with the parameter __health itself, before it
// checks any signature. The error is a [dialpolicy.RefusedError] if the service may not connect.
func (f *Forwarder) Check(ctx context.Context, baseURL string) error {
	target, err := endpoint(baseURL, world.KindFlow)
	if err != nil {
		return err
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target+"?__health", strings.NewReader("{}"))
	if err != nil {
		return fmt.Errorf("the app's address %.200q is not usable: %w", target, err)
	}
	req.Header.Set("User-Agent", "world-redis")
	// Astro refuses a POST of another origin that has no content type, and Fastify one that has a type and no body.
	req.Header.Set("Content-Type", "application/json")
	via := f.via(req)
	resp, err := f.client.Do(req)
	refused := new(dialpolicy.RefusedError)
	if errors.As(err, &refused) {
		return refused
	}
	if err != nil {
		return errors.New(explain(target, via, err, connected.Load()))
	}
	defer func() { _ = resp.Body.Close() }() // nothing more is needed
	body, err := io.ReadAll(io.LimitReader(resp.Body, shownBody))
	if err != nil {
		return errors.New(explain(target, via, err, true))
	}
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	healthy := err == nil && (mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"))
	healthy = healthy || strings.Contains(string(body), "endpoint is healthy") // SDK 4.0.1-beta answers with a sentence
	if resp.StatusCode < 200 || resp.StatusCode > 299 || !healthy {
		a := answer{url: target, status: resp.StatusCode, header: resp.Header, body: body, via: via}
		if words, _, ok := madeBetween(a); ok {
			return errors.New(complaintBetween(a, words))
		}
		return errors.New(complaint(a))
	}
	return nil
}
