package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// Strays handles messages for steps that are not in the log of their run, and messages of runs that do not exist:
// Redis lost an event but not the message, or the message was queued by hand. An app cannot process such a message.
// The run, if it exists, can: it reads its log and dispatches what it needs.
type Strays struct {
	Store interface {
		world.RunStore
		world.StepFinder
		world.GoneRuns
	}
	Queue WakeQueue
	Clock world.Clock // nil means the system's clock
}

// The keys by which a message carries the data that creates its run, or the event that it is about (contract §5.2):
// the app then creates what is missing.
var (
	runInputs  = []string{"runInput", "hookInput"}
	stepInputs = []string{"stepInput", "runInput", "hookInput"}
)

// Settle decides about a message that an app did not acknowledge. If the run is live and has no such step, it queues
// a wake-up of the run. A reason means that the message is done; an empty reason means that it is treated like any
// other. Settle is safe to call twice: the wake-up for a message is queued once.
func (s Strays) Settle(ctx context.Context, messageID string, m world.Message) (reason string, err error) {
	switch {
	case m.RunID == "" || !world.ValidID(m.RunID) || brings(m, runInputs):
		return "", nil
	case m.StepID == "":
		return s.settleWakeUp(ctx, m)
	case !world.ValidID(m.StepID):
		return "", nil
	}
	found, err := s.Store.FindSteps(ctx, []world.StepRef{{RunID: m.RunID, StepID: m.StepID}})
	if err != nil {
		return "", err
	}
	switch {
	case found[0].Run == "":
		return s.noRun(m.RunID), nil
	case found[0].Run.Terminal():
		return "the run has ended", nil
	case found[0].Step, brings(m, stepInputs):
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

// Late returns why a message can never be processed that carries the input of its run, or a payload for it: the run has been
// removed, so the app cannot create it. Such a message is set aside, because what it carries is nowhere else. The reason is empty for
// every other message.
func (s Strays) Late(ctx context.Context, m world.Message) (reason string, err error) {
	if !world.ValidID(m.RunID) || !brings(m, runInputs) {
		return "", nil
	}
	return s.Store.WhyGone(ctx, m.RunID)
}

// settleWakeUp decides about a message that is not for a step.
func (s Strays) settleWakeUp(ctx context.Context, m world.Message) (reason string, err error) {
	_, err = s.Store.GetRun(ctx, m.RunID, true)
	if world.ErrorCode(err) == world.CodeRunNotFound {
		return s.noRun(m.RunID), nil
	}
	return "", err
}

// noRun returns the reason to drop a message of a run that does not exist; "" if its first event may still arrive.
func (s Strays) noRun(runID string) string {
	if aboutToBegin(s.Clock, runID) {
		return ""
	}
	return "the run does not exist"
}

// brings reports whether a message has one of the keys. A message that cannot be read counts as having one.
func brings(m world.Message, wanted []string) bool {
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
	for _, key := range wanted {
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

// withStraysOnly returns the runs whose messages are all for steps that are not in their logs. Such a message wakes
// its run when it is delivered, but it may be delayed or wait for an app, and nothing else will wake the run.
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
	first := make([]int, len(runs)+1) // of each run's references
	for i, ofRun := range messages {
		for _, m := range ofRun {
			if brings(m, stepInputs) {
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
