package httpapi

import (
	"context"
	"sync"

	"github.com/world-redis/world-redis"
)

// fakeAdmin is a queue that has these messages.
type fakeAdmin struct {
	messages []world.MessageInfo
	asked    []world.MessageQuery
	redriven []string
	dropped  []string
	paused   map[world.Kind]bool
}

func (f *fakeAdmin) ListMessages(_ context.Context, q world.MessageQuery) (world.Page[world.MessageInfo], error) {
	f.asked = append(f.asked, q)
	page := world.Page[world.MessageInfo]{}
	for _, m := range f.messages {
		if (q.State == "" || q.State == m.State) && (q.RunID == "" || q.RunID == m.RunID) {
			page.Data = append(page.Data, m)
		}
	}
	// Two a page.
	if q.Page.Cursor == "" && len(page.Data) > 2 {
		page.Data, page.Cursor, page.HasMore = page.Data[:2], "second", true
	} else if q.Page.Cursor == "second" {
		page.Data = page.Data[2:]
	}
	return page, nil
}

func (f *fakeAdmin) GetMessage(_ context.Context, id string) (world.MessageInfo, error) {
	for _, m := range f.messages {
		if m.MessageID == id {
			return m, nil
		}
	}
	return world.MessageInfo{}, world.Errorf(world.CodeNotFound, "no such message")
}

func (f *fakeAdmin) RunMessages(_ context.Context, runID string) ([]world.MessageInfo, error) {
	page, err := f.ListMessages(context.Background(), world.MessageQuery{RunID: runID})
	return page.Data, err
}

func (f *fakeAdmin) Redrive(_ context.Context, id string) (world.RedriveOutcome, error) {
	f.redriven = append(f.redriven, id)
	return world.Redriven, nil
}

func (f *fakeAdmin) DropMessage(_ context.Context, id string) (world.DropOutcome, error) {
	f.dropped = append(f.dropped, id)
	for i, m := range f.messages {
		switch {
		case m.MessageID == id && m.State == world.MessageActive:
			return world.DropInHand, nil
		case m.MessageID == id:
			f.messages = append(f.messages[:i], f.messages[i+1:]...)
			return world.Dropped, nil
		}
	}
	return "", world.Errorf(world.CodeNotFound, "no such message")
}

func (f *fakeAdmin) CountRunMessages(_ context.Context, runID string) (int64, error) {
	messages, err := f.RunMessages(context.Background(), runID)
	return int64(len(messages)), err
}

func (f *fakeAdmin) PauseQueue(_ context.Context, kind world.Kind) error {
	f.paused[kind] = true
	return nil
}

func (f *fakeAdmin) ResumeQueue(_ context.Context, kind world.Kind) error {
	f.paused[kind] = false
	return nil
}

func (f *fakeAdmin) QueueDepths(context.Context) ([]world.QueueDepth, error) {
	return []world.QueueDepth{{Kind: world.KindFlow, Queue: "workflow_flows", Pending: 3, Oldest: 5}, {Kind: world.KindStep, Queue: "workflow_steps", Paused: true}}, nil
}

// forgetter records the runs with which it was called.
type forgetter struct {
	mu   sync.Mutex
	runs []string
}

func (f *forgetter) ForgetRun(runID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = append(f.runs, runID)
}
