package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/ids"
)

// Strays handles messages for steps that the log of their run does not have: Redis lost the
// step's first event, or somebody queued the message by hand. No app can do anything with
// such a message. The run can: it looks at its log and dispatches what it needs.
type Strays struct {
	Store interface {
		world.RunStore
		world.StepFinder
	}
	Queue WakeQueue
	Clock world.Clock // nil: the system's
}

// Settle decides about a message for a step that an app did not acknowledge. When the run lives
// and has no such step, it queues a wake-up of the run. A reason means that the message is
// done; an empty one that it is as good as any other. It is safe to call twice: the wake-up
// of a message is queued once.
func (s Strays) Settle(ctx context.Context, messageID string, m world.Message) (reason string, err error) {
	if m.RunID == "" || m.StepID == "" || bringsInput(m) || !ids.Valid(m.RunID) || !ids.Valid(m.StepID) {
		return "", nil
	}
	found, err := s.Store.FindSteps(ctx, []world.StepRef{{RunID: m.RunID, StepID: m.StepID}})
	if err != nil {
		return "", err
	}
	switch {
	case found[0].Run == "":
		if aboutToBegin(s.Clock, m.RunID) {
			return "", nil // its first event may be on its way
		}
		return "the run does not exist", nil
	case found[0].Run.Terminal():
		return "the run has ended", nil
	case found[0].Step:
		return "", nil
	}
	run, err := s.Store.GetRun(ctx, m.RunID, true)
	if err != nil {
		return "", err
	}
	wake, err := wakeUp(ctx, s.Queue, run)
	if err != nil {
		return "", err
	}
	wake.RequestID = "stray " + messageID
	if _, err := s.Queue.Enqueue(ctx, wake); err != nil {
		return "", err
	}
	return "the log of the run has no such step; the run is woken instead", nil
}

// bringsInput reports whether a message carries what makes its step or its run (contract §5.2):
// then the app creates what is missing. A message that cannot be read counts as one.
func bringsInput(m world.Message) bool {
	mediaType, _, err := mime.ParseMediaType(m.ContentType)
	if err != nil {
		return true
	}
	var keys map[string]struct{}
	switch mediaType {
	case "application/json":
		var fields map[string]json.RawMessage
		if json.Unmarshal(m.Body, &fields) != nil {
			return true
		}
		keys = keysOf(fields)
	default:
		var fields map[string]cbor.RawMessage
		if cbor.Unmarshal(m.Body, &fields) != nil {
			return true
		}
		keys = keysOf(fields)
	}
	for _, key := range []string{"stepInput", "runInput", "hookInput"} {
		if _, brings := keys[key]; brings {
			return true
		}
	}
	return false
}

func keysOf[V any](m map[string]V) map[string]struct{} {
	keys := make(map[string]struct{}, len(m))
	for key := range m {
		keys[key] = struct{}{}
	}
	return keys
}

// withStraysOnly returns those of the runs whose messages are all for steps that their logs do not
// have. Such a message wakes its run when it is delivered, but perhaps it is delayed, or
// waits for an app: nothing else will wake the run.
func (r *Reconciler) withStraysOnly(ctx context.Context, runs []world.RunLook) ([]world.RunLook, error) {
	runs = r.looks.due(runs, r.cfg.Clock.Now(), busyFor*r.cfg.Grace)
	if len(runs) == 0 {
		return nil, nil
	}
	messages, err := r.queue.StepMessages(ctx, idsOf(runs))
	if err != nil {
		return nil, err
	}
	var refs []world.StepRef
	first := make([]int, len(runs)+1) // of the references of each run
	for i, ofRun := range messages {
		for _, m := range ofRun {
			if bringsInput(m) {
				refs = refs[:first[i]]
				break
			}
			refs = append(refs, world.StepRef{RunID: runs[i].RunID, StepID: m.StepID})
		}
		first[i+1] = len(refs)
	}
	if len(refs) == 0 {
		return nil, nil
	}
	found, err := r.store.FindSteps(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("steps of messages: %w", err)
	}
	var out []world.RunLook
	for i, run := range runs {
		known := found[first[i]:first[i+1]]
		if len(known) > 0 && !anyStep(known) {
			out = append(out, run)
			r.looks.forget(run.RunID)
		}
	}
	return out, nil
}

func anyStep(found []world.StepPresence) bool {
	for _, f := range found {
		if f.Step {
			return true
		}
	}
	return false
}
