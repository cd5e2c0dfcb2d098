package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// stub is an app that acknowledges every delivery immediately. For a queue whose name ends in "_interactive" it
// records the time of each arrival; for others, only their number and the last arrival.
type stub struct {
	mu          sync.Mutex
	arrived     int
	last        float64
	interactive map[string]float64 // message id → epoch milliseconds of its first arrival
	more        chan struct{}      // closed at the next arrival
}

func stubCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stub",
		Short: "serve an app that acknowledges every delivery at once; prints its address, runs until it is stopped",
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			s := &stub{interactive: map[string]float64{}, more: make(chan struct{})}
			server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: time.Minute}
			go func() {
				<-cmd.Context().Done()
				_ = server.Close()
			}()
			if err := report(map[string]string{"url": "http://" + listener.Addr().String()}); err != nil {
				return err
			}
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
}

func (s *stub) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /.well-known/workflow/v1/{kind}", s.deliver)
	mux.HandleFunc("GET /seen", s.seen)
	return mux
}

func (s *stub) deliver(w http.ResponseWriter, r *http.Request) {
	now := float64(time.Now().UnixMicro()) / 1000
	_, _ = io.Copy(io.Discard, r.Body)
	if r.URL.Query().Has("__health") { // the service checks whether an app is there
		answerOK(w)
		return
	}
	s.mu.Lock()
	if id := r.Header.Get("x-vqs-message-id"); strings.HasSuffix(r.Header.Get("x-vqs-queue-name"), "_interactive") {
		if _, again := s.interactive[id]; !again {
			s.interactive[id] = now
		}
	} else {
		s.arrived++
		s.last = now
	}
	close(s.more)
	s.more = make(chan struct{})
	s.mu.Unlock()
	answerOK(w)
}

func answerOK(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true}`)
}

// seen answers once `count` deliveries have arrived, or after a minute.
func (s *stub) seen(w http.ResponseWriter, r *http.Request) {
	var count int
	_, _ = fmt.Sscan(r.URL.Query().Get("count"), &count)
	deadline := time.After(time.Minute)
	for {
		s.mu.Lock()
		enough, more := s.arrived >= count, s.more
		s.mu.Unlock()
		if enough {
			break
		}
		select {
		case <-more:
			continue
		case <-deadline:
		case <-r.Context().Done():
		}
		break
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"arrived": s.arrived, "last": s.last, "interactive": s.interactive})
}
