package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis/cmd/internal/httpproxy"
)

const (
	listenVariable = "WORKFLOW_WORLD_LISTEN"
	defaultListen  = "127.0.0.1:8787"
	// healthTimeout is for the whole check; the service itself takes two seconds at most.
	healthTimeout = 5 * time.Second
	// maxHealth is how much of an answer is read, in bytes.
	maxHealth = 64 << 10
)

func healthCommand() *cobra.Command {
	var address string
	timeout := healthTimeout
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check whether a service is ready: exit code 0 or 1",
		Long: "Asks a service whether it is ready (GET /readyz): it runs, does not stop, and Redis accepts writes. Prints one\n" +
			"line; the exit code is 0 if it is ready, otherwise 1. It needs neither a token nor a shell, so it can be the\n" +
			"health check of a container.\n\n" +
			"Without --url it asks the service of its own environment, on this machine, at WORKFLOW_WORLD_LISTEN.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return errors.New("--timeout must be more than 0")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			ready, err := checkHealth(ctx, address)
			if errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("%w (--timeout %s)", err, timeout)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the service at %s is ready\n", ready)
			return err
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "address of the service; default: this machine, at WORKFLOW_WORLD_LISTEN ("+defaultListen+")")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait for the answer")
	return cmd
}

// checkHealth returns the URL of a service that is ready. The error is one line that says why it is not.
func checkHealth(ctx context.Context, address string) (ready string, err error) {
	urls, err := healthURLs(address, os.Getenv(listenVariable))
	if err != nil {
		return "", err
	}
	proxy, err := httpproxy.Parse(os.Getenv(httpproxy.Variable))
	if err != nil {
		return "", err
	}
	client := &http.Client{
		Transport:     &http.Transport{Proxy: proxy, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var first error
	for _, base := range urls {
		err := readyAt(ctx, client, base)
		if err == nil {
			return base, nil
		}
		if dial := new(net.OpError); !errors.As(err, &dial) || dial.Op != "dial" {
			return "", err // something is there
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// healthURLs returns the addresses to try: the one of the flag, otherwise those of a service that listens on listen.
func healthURLs(address, listen string) ([]string, error) {
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("the address %q is not http(s)://host[:port]", address)
		}
		if u.User != nil {
			return nil, errors.New("the address must have no user name and no password: none is needed")
		}
		return []string{strings.TrimRight(address, "/")}, nil
	}
	if listen == "" {
		listen = defaultListen
	}
	urls, err := ownURLs(listen)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: set --url", listenVariable, err)
	}
	if strings.HasSuffix(listen, ":0") {
		return nil, fmt.Errorf("%s is %s, so the port is another at every start: set --url", listenVariable, listen)
	}
	return urls, nil
}

// readyAt returns why the service at an address is not ready; nil if it is.
func readyAt(ctx context.Context, client *http.Client, base string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", http.NoBody) //nolint:gosec // the operator says which service to ask
	if err != nil {
		return fmt.Errorf("the address %q cannot be called: %w", base, err)
	}
	req.Header.Set("Accept", "application/json")
	res, err := client.Do(req) //nolint:gosec // as above
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return fmt.Errorf("no world-redis answers at %s: %w", base, err)
	}
	defer func() { _ = res.Body.Close() }() // nothing more is needed
	body, err := io.ReadAll(io.LimitReader(res.Body, maxHealth))
	switch {
	case res.StatusCode == http.StatusOK:
		return nil
	case err != nil:
		return fmt.Errorf("the answer of %s is incomplete: %w", base, err)
	}
	var refused struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &refused) == nil && refused.Error.Message != "" {
		return fmt.Errorf("the service at %s is not ready: %s", base, oneLine(refused.Error.Message))
	}
	return fmt.Errorf("GET %s/readyz answers %s: is this a world-redis?", base, res.Status)
}

// oneLine makes one line of a text from elsewhere.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
