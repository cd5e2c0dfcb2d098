package main

import (
	"context"
	"io"
	"net/http"
)

// appList is the service's list of apps.
type appList struct {
	Data []struct{ BaseURL, DeploymentID, SharedWith string }
}

// showShared prints the addresses that two live deployments share, each once.
func (s *service) showShared(ctx context.Context, out io.Writer) error {
	answer, err := s.call(ctx, http.MethodGet, "/v1/apps", nil, nil)
	if err != nil {
		return err
	}
	return show(s, out, answer, func(apps appList) { writeShared(out, apps) })
}

func writeShared(out io.Writer, apps appList) {
	said := map[string]bool{}
	for _, a := range apps.Data {
		if a.SharedWith == "" || said[a.BaseURL] {
			continue
		}
		said[a.BaseURL] = true
		say(out, "WARNING: %s is the address of two live deployments, %q and %q\n\n", a.BaseURL, a.DeploymentID, a.SharedWith)
	}
}
