package embedded

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/world-redis/world-redis"
)

const (
	// headerProbe marks a request that asks a client who answers. An older client, and an app with another World, answer
	// that headers are missing.
	headerProbe = "X-World-Redis-Probe"
	// proofLabel makes a proof differ from anything else that a nonce may be used for.
	proofLabel = "world-redis probe v1"
	// probeBody is the body of a probe. Astro refuses a POST of another origin that has no content type, and Fastify one
	// that has a type and no body.
	probeBody = "{}"
	// maxProbed limits an answer to a probe, in bytes.
	maxProbed = 64 << 10
)

// ErrSignature is the error of [Forwarder.Probe] if a client does not accept the service's signature.
var ErrSignature = errors.New("the app refuses the signature of the service: set the same WORKFLOW_WORLD_TOKEN or WORKFLOW_WORLD_SIGNING_KEY on both sides, and compare the clocks")

// Answerer is the app that answers at an address.
type Answerer struct {
	Deployment string
	SDK        string
	Workflows  string // as in world.App; empty if unknown
	Proved     bool   // it is the process that has the nonce
}

// Probe asks the client in an app who it is. known is false if the address answers, but with no client that knows
// probes. It makes a connection of its own, so that a load balancer may choose any process. nonce may be empty.
func (f *Forwarder) Probe(ctx context.Context, baseURL, nonce string) (who Answerer, known bool, err error) {
	target, err := endpoint(baseURL, world.KindFlow)
	if err != nil {
		return who, false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(probeBody))
	if err != nil {
		return who, false, fmt.Errorf("the app's address %.200q is not usable: %w", target, err)
	}
	probe := "probe_" + rand.Text()
	req.Header.Set("User-Agent", "world-redis")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(headerProbe, "1")
	req.Header.Set(headerMessage, probe)
	sign(req, string(world.KindFlow), []byte(probeBody), f.keys, f.clock.Now())
	resp, err := f.fresh.Do(req)
	if err != nil {
		return who, false, errors.New(explain(target, f.via(req), err, false))
	}
	defer func() { _ = resp.Body.Close() }() // nothing more is needed
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProbed))
	if err != nil {
		return who, false, errors.New(explain(target, f.via(req), err, true))
	}
	if isSignatureRefusal(answer{status: resp.StatusCode, header: resp.Header}) {
		return who, false, ErrSignature
	}
	var said struct {
		Deployment string   `json:"deployment"`
		SDK        string   `json:"sdk"`
		Proof      string   `json:"proof"`
		Workflows  []string `json:"workflows"`
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get(headerClient) == "" || json.Unmarshal(body, &said) != nil || said.Deployment == "" {
		return who, false, nil
	}
	return Answerer{
		Deployment: said.Deployment, SDK: said.SDK, Workflows: strings.Join(said.Workflows, "\n"),
		Proved: nonce != "" && hmac.Equal([]byte(said.Proof), []byte(proofOf(nonce, probe))),
	}, true, nil
}

// proofOf is what the process with this nonce answers to a probe.
func proofOf(nonce, probe string) string {
	mac := hmac.New(sha256.New, []byte(nonce))
	mac.Write([]byte(proofLabel + "\n" + probe))
	return hex.EncodeToString(mac.Sum(nil))
}
