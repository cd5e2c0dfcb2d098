package archivetest

import (
	"fmt"
	"iter"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"github.com/oklog/ulid/v2"

	"github.com/world-redis/world-redis"
)

// At is the time of the samples.
const At = world.Millis(1_800_000_000_123)

// RunID returns the id of a run that was made at a time. Runs of one time are ordered by their number.
func RunID(at world.Millis, number int) string {
	var u ulid.ULID
	if err := u.SetTime(ulid.Timestamp(at.Time())); err != nil {
		panic(err)
	}
	u[14], u[15] = byte(number>>8), byte(number)
	return "wrun_" + u.String()
}

// CBOR encodes a value.
func CBOR(value any) world.Raw {
	raw, err := cbor.Marshal(value)
	if err != nil {
		panic(err)
	}
	return raw
}

// Copy makes a copy of a run from its parts.
func Copy(run world.Run, parts ...world.RunPart) *world.RunCopy {
	c := &world.RunCopy{Run: run, Parts: partsOf(parts)}
	for _, p := range parts {
		if p.Event != nil {
			c.Events++
		}
	}
	return c
}

func partsOf(parts []world.RunPart) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		for _, p := range parts {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// Run is a completed run with every field.
func Run(id string) world.Run {
	return world.Run{
		RunID: id, Status: world.RunCompleted, DeploymentID: "dpl_1", WorkflowName: "workflow//./workflows/order.ts//order", SpecVersion: 4,
		ExecutionContext: CBOR(map[string]any{"traceCarrier": map[string]string{"a": "b"}}), Input: CBOR([]byte("input of " + id)),
		Output: CBOR([]byte{0, 1, 2, 255}), Error: CBOR("an error"), ErrorCode: "E_CODE", Attributes: CBOR(map[string]string{"tenant": "ü"}),
		EncryptionPublicKey: "key", CreatedAt: At, UpdatedAt: At + 9, StartedAt: At + 1, CompletedAt: At + 9, ExpiredAt: At + 100,
	}
}

// SixEvents is a run of the usual size: one step, six events.
func SixEvents(id string) *world.RunCopy {
	run := Run(id)
	run.Error, run.ErrorCode, run.ExpiredAt = nil, "", 0
	ulid := strings.TrimPrefix(id, "wrun_")
	step := "step_" + ulid
	var parts []world.RunPart
	event := func(kind world.EventType, correlation string, data ...world.Field) {
		parts = append(parts, world.RunPart{Event: &world.Event{
			EventID: fmt.Sprintf("wevt_%s-%d", ulid, len(parts)), RunID: id, Type: kind, CorrelationID: correlation, SpecVersion: 4,
			CreatedAt: At + world.Millis(len(parts)), Data: data,
		}})
	}
	event(world.EventRunCreated, "", world.Field{Key: "deploymentId", Value: CBOR("dpl_1")}, world.Field{Key: "input", Value: run.Input},
		world.Field{Key: "workflowName", Value: CBOR(run.WorkflowName)})
	event(world.EventRunStarted, "")
	event(world.EventStepCreated, step, world.Field{Key: "stepName", Value: CBOR("add")}, world.Field{Key: "input", Value: CBOR([]byte{1})})
	event(world.EventStepStarted, step, world.Field{Key: "attempt", Value: CBOR(1)})
	event(world.EventStepCompleted, step, world.Field{Key: "result", Value: CBOR([]byte{2})})
	event(world.EventRunCompleted, "", world.Field{Key: "output", Value: run.Output})
	parts = append(parts, world.RunPart{Step: &world.Step{
		RunID: id, StepID: step, StepName: "add", Status: world.StepCompleted, Input: CBOR([]byte{1}), Output: CBOR([]byte{2}), Attempt: 1,
		SpecVersion: 4, CreatedAt: At + 2, UpdatedAt: At + 4, StartedAt: At + 3, CompletedAt: At + 4,
	}})
	return Copy(run, parts...)
}

// odd is a text that some stores cannot hold as it is.
const odd = "nul \x00, \\0 backslash, \xff\xfe no UTF-8, \U0001f600 /"

// full is a run with parts of every kind, each field of them set somewhere, and texts that are hard to store.
func full(id string) *world.RunCopy {
	run := Run(id)
	run.WorkflowName, run.DeploymentID = odd, odd
	name := func(n int) string { return fmt.Sprintf("strm_%s_user_%d", strings.TrimPrefix(id, "wrun_"), n) }
	return Copy(
		run,
		world.RunPart{Event: &world.Event{
			EventID: "wevt_0", RunID: id, Type: world.EventRunCreated, SpecVersion: 4, CreatedAt: At, OccurredAt: At - 5,
			Data: world.Fields{{Key: "z", Value: CBOR(1)}, {Key: "input", Value: run.Input}, {Key: "a", Value: CBOR(nil)}, {Key: odd, Value: CBOR("odd")}},
		}},
		world.RunPart{Event: &world.Event{EventID: "wevt_1", RunID: id, Type: world.EventRunStarted, SpecVersion: 4, CreatedAt: At + 1}},
		world.RunPart{Event: &world.Event{
			EventID: "wevt_2", RunID: id, Type: world.EventHookReceived, CorrelationID: "hook_1", ResumeID: "resume-1", SpecVersion: 4, CreatedAt: At + 2,
			Data: world.Fields{{Key: "payload", Value: CBOR([]byte("alone"))}},
		}},
		world.RunPart{Event: &world.Event{EventID: "wevt_3", RunID: id, Type: world.EventWaitCompleted, CorrelationID: "wait_1", SpecVersion: 4, CreatedAt: At + 3, Data: world.Fields{}}},
		world.RunPart{Step: &world.Step{
			RunID: id, StepID: "step_1" + id, StepName: odd, Status: world.StepFailed, Input: CBOR([]byte{1}), Error: CBOR("e"), Attempt: 3, SpecVersion: 4,
			CreatedAt: At + 1, UpdatedAt: At + 2, StartedAt: At + 1, CompletedAt: At + 2, RetryAfter: At + 7,
		}},
		world.RunPart{Step: &world.Step{RunID: id, StepID: "step_2" + id, Status: world.StepPending, CreatedAt: At + 1, UpdatedAt: At + 1}},
		world.RunPart{Hook: &world.HookCopy{Position: 2, Hook: world.Hook{
			RunID: id, HookID: "hook_1", Token: odd, OwnerID: "o", ProjectID: "p", Environment: "e", Metadata: CBOR("m"), IsWebhook: true, IsSystem: true,
			SpecVersion: 4, CreatedAt: At + 2, TokenRetentionUntil: At + 1000,
		}}},
		world.RunPart{Hook: &world.HookCopy{Position: -1, Hook: world.Hook{RunID: id, HookID: "hook_2", Token: "t", CreatedAt: At + 3}}},
		world.RunPart{Stream: &world.StreamCopy{Name: name(0), Count: 4, Ends: []int64{1, 4}}},
		world.RunPart{Chunk: &world.Chunk{Index: 0, Data: []byte("zero")}},
		world.RunPart{Chunk: &world.Chunk{Index: 2, Data: []byte{}}},
		world.RunPart{Chunk: &world.Chunk{Index: 3, Data: []byte{0xff, 0}}},
		world.RunPart{Stream: &world.StreamCopy{Name: name(1)}},
		world.RunPart{Stream: &world.StreamCopy{Name: odd + id, Count: 1}},
		world.RunPart{Chunk: &world.Chunk{Index: 0, Data: []byte("of the last")}},
	)
}

// large is a run of so many events and steps that no store reads them at once, and with chunks of 256 KB.
func large(id string, events, chunks int) *world.RunCopy {
	return &world.RunCopy{Run: Run(id), Events: int64(events), Parts: func(yield func(world.RunPart, error) bool) {
		for i := range events {
			e := world.Event{EventID: fmt.Sprintf("wevt_%d", i), RunID: id, Type: world.EventStepCreated, CorrelationID: fmt.Sprintf("step_%d", i), SpecVersion: 4, CreatedAt: At + world.Millis(i)}
			e.Data = world.Fields{{Key: "input", Value: CBOR(i)}}
			if !yield(world.RunPart{Event: &e}, nil) {
				return
			}
		}
		for i := range events {
			s := world.Step{RunID: id, StepID: fmt.Sprintf("step_%d", i), StepName: "s", Status: world.StepCompleted, CreatedAt: At, UpdatedAt: At}
			if !yield(world.RunPart{Step: &s}, nil) {
				return
			}
		}
		if !yield(world.RunPart{Stream: &world.StreamCopy{Name: "large-" + id, Count: int64(chunks)}}, nil) {
			return
		}
		for i := range chunks {
			data := make([]byte, 256<<10)
			data[0], data[1] = byte(i), byte(i>>8)
			if !yield(world.RunPart{Chunk: &world.Chunk{Index: int64(i), Data: data}}, nil) {
				return
			}
		}
	}}
}
