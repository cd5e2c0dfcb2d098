package httpapi

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

// fakePair makes the second call once the first is where it may come.
type fakePair struct {
	ctx     context.Context
	sent    chan struct{} // closed when the first is on its way
	sending sync.Once
	well    bool
	second  chan struct{}
	inTime  bool
}

func (p *fakePair) First() context.Context  { return context.WithValue(p.ctx, placeKey{}, p) }
func (p *fakePair) Second() context.Context { return p.First() }
func (p *fakePair) goOn()                   { p.sending.Do(func() { close(p.sent) }) }
func (p *fakePair) FirstEnded(well bool)    { p.well = well; p.goOn() }
func (p *fakePair) SecondEnded()            { close(p.second) }
func (p *fakePair) InTime() bool            { return p.inTime }

type placeKey struct{}

// pairedServer makes events and messages as createEvent and enqueue say; each message waits until its event is on its way.
func pairedServer(t *testing.T, inTime bool, createEvent func() error) (s *Server, pairs *[]*fakePair, queued *[]string) {
	t.Helper()
	f := newFakes(t)
	pairs, queued = new([]*fakePair), new([]string)
	f.store.createEvent = func(req world.CreateEvent) (world.EventResult, error) {
		if err := createEvent(); err != nil {
			return world.EventResult{}, err
		}
		return world.EventResult{Event: &world.Event{EventID: "wevt_1", RunID: runID, Type: req.Type}}, nil
	}
	f.queue.enqueue = func(msg world.Message) (string, error) {
		<-(*pairs)[0].sent
		*queued = append(*queued, msg.RequestID)
		return "msg_" + msg.RequestID, nil
	}
	s = newServer(t, f, func(_ *Config, deps *Deps) {
		deps.Pair = func(ctx context.Context) Pair {
			p := &fakePair{ctx: ctx, sent: make(chan struct{}), second: make(chan struct{}), inTime: inTime}
			*pairs = append(*pairs, p)
			return p
		}
	})
	return s, pairs, queued
}

// An event and its message are made at once, the message under a name that no repeat of the call has.
func TestPairIsMadeAtOnce(t *testing.T) {
	t.Parallel()
	s, pairs, queued := pairedServer(t, true, func() error { return nil })
	got := sendBundle(t, s, nil, eventThenQueue(t, "step_1"))
	require.Equal(t, http.StatusOK, got[0].Status)
	require.Contains(t, string(got[0].Body), "wevt_1")
	require.Equal(t, http.StatusOK, got[0].Then.Status)
	require.Contains(t, string(got[0].Then.Body), "msg_req_made_up")
	require.Equal(t, []string{"req_made_up"}, *queued)
	require.True(t, (*pairs)[0].well)
	<-(*pairs)[0].second
}

// A message that came before what its event did is queued once more, now under its own name.
func TestPairThatWasNotInTime(t *testing.T) {
	t.Parallel()
	s, _, queued := pairedServer(t, false, func() error { return nil })
	got := sendBundle(t, s, nil, eventThenQueue(t, "step_1"))
	require.Equal(t, http.StatusOK, got[0].Then.Status)
	require.Contains(t, string(got[0].Then.Body), "msg_message of step_1")
	require.Equal(t, []string{"req_made_up", "message of step_1"}, *queued)
}

// Whoever asked for a message after an event that is refused hears that there is none, whatever was queued.
func TestPairWhoseEventIsRefused(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		event  func() error
		status int
	}{
		"refused": {func() error { return world.Errorf(world.CodeRunExpired, "the run has ended") }, http.StatusGone},
		"cut":     {func() error { panic(http.ErrAbortHandler) }, http.StatusServiceUnavailable},
	} {
		s, pairs, queued := pairedServer(t, true, one.event)
		got := sendBundle(t, s, nil, eventThenQueue(t, "step_1"))
		require.Equal(t, one.status, got[0].Status, name)
		require.Equal(t, &bundledReply{Status: http.StatusFailedDependency}, got[0].Then, name)
		require.False(t, (*pairs)[0].well, name)
		require.Equal(t, []string{"req_made_up"}, *queued, name)
	}
}
