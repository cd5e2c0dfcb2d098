package format

import (
	"compress/gzip"
	"fmt"
	"io"
	"sync"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/wire"
)

// Version is the version of the format that this build writes. It reads this version and older ones.
const Version = 1

// name says in each header what the file is.
const name = "world-redis run"

// The kinds of items, in their order.
const (
	kindHeader = "header"
	kindRun    = "run"
	kindEvent  = "event"
	kindStep   = "step"
	kindHook   = "hook"
	kindStream = "stream"
	kindChunk  = "chunk"
	kindEnd    = "end"
)

// Header says where a copy of a run comes from.
type Header struct {
	Version  int          // of the format; ignored by Write
	Service  string       // version of the service that wrote it
	CopiedAt world.Millis // when
}

// counts are how many parts of each kind a run has.
type counts struct{ events, steps, hooks, streams, chunks int64 }

// compressors keeps the memory of gzip writers, most of a megabyte each.
var compressors = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return z
}}

// Write writes a copy of a run as one member. It reads the parts as it goes. An error of the copy is returned as it is; what was
// written up to then is no valid member.
func Write(w io.Writer, h Header, c *world.RunCopy) error {
	z := compressors.Get().(*gzip.Writer) //nolint:forcetypeassert // nothing else is in there
	defer compressors.Put(z)
	z.Reset(w)
	out := &writer{to: z}
	out.item(kindHeader, func(o *wire.Object, _ *wire.Encoder) {
		o.Text("format", name)
		o.Whole("version", Version)
		o.Text("service", h.Service)
		o.Whole("copiedAt", int64(h.CopiedAt))
	})
	out.run(&c.Run)
	for part, err := range c.Parts {
		if err != nil {
			return err
		}
		out.part(part)
		if out.err != nil {
			return out.err
		}
	}
	out.end()
	if out.err != nil {
		return out.err
	}
	return z.Close()
}

// writer writes items until one fails.
type writer struct {
	to  io.Writer
	n   counts
	err error
}

// item writes [kind, {…}] with its length before it.
func (w *writer) item(kind string, fill func(*wire.Object, *wire.Encoder)) {
	if w.err != nil {
		return
	}
	e := wire.BorrowEncoder()
	defer e.Release()
	e.Array(2)
	e.Text(kind)
	o := e.Object()
	fill(&o, e)
	o.End()
	var room [12]byte
	head := cboritem.AppendHead(room[:0], cboritem.MajorTag, encodedItem)
	head = cboritem.AppendHead(head, cboritem.MajorBytes, uint64(len(e.Bytes)))
	if _, w.err = w.to.Write(head); w.err == nil {
		_, w.err = w.to.Write(e.Bytes)
	}
}

// encodedItem is the tag of a byte string that holds an item (RFC 8949 §3.4.5.1).
const encodedItem = 24

func (w *writer) run(r *world.Run) {
	w.item(kindRun, func(o *wire.Object, _ *wire.Encoder) {
		o.Text("runId", r.RunID)
		o.Text("status", string(r.Status))
		o.OptionalText("deploymentId", r.DeploymentID)
		o.OptionalText("workflowName", r.WorkflowName)
		o.OptionalWhole("specVersion", r.SpecVersion)
		o.OptionalRaw("executionContext", r.ExecutionContext)
		o.OptionalRaw("input", r.Input)
		o.OptionalRaw("output", r.Output)
		o.OptionalRaw("error", r.Error)
		o.OptionalText("errorCode", r.ErrorCode)
		o.OptionalRaw("attributes", r.Attributes)
		o.OptionalText("encryptionPublicKey", r.EncryptionPublicKey)
		millis(o, map[string]world.Millis{"createdAt": r.CreatedAt, "updatedAt": r.UpdatedAt, "startedAt": r.StartedAt, "completedAt": r.CompletedAt, "expiredAt": r.ExpiredAt})
	})
}

// millis writes the times that are set.
func millis(o *wire.Object, times map[string]world.Millis) {
	for _, key := range [...]string{"createdAt", "updatedAt", "startedAt", "completedAt", "expiredAt", "occurredAt", "retryAfter", "tokenRetentionUntil"} {
		o.OptionalMillis(key, times[key])
	}
}

func (w *writer) part(p world.RunPart) {
	switch {
	case p.Event != nil:
		w.n.events++
		w.event(p.Event)
	case p.Step != nil:
		w.n.steps++
		w.step(p.Step)
	case p.Hook != nil:
		w.n.hooks++
		w.hook(p.Hook)
	case p.Stream != nil:
		w.n.streams++
		w.stream(p.Stream)
	case p.Chunk != nil:
		w.n.chunks++
		w.item(kindChunk, func(o *wire.Object, e *wire.Encoder) {
			o.Whole("index", p.Chunk.Index)
			o.Key("data")
			e.ByteString(p.Chunk.Data)
		})
	default:
		w.err = fmt.Errorf("a part of a copy has nothing in it")
	}
}

func (w *writer) event(v *world.Event) {
	w.item(kindEvent, func(o *wire.Object, e *wire.Encoder) {
		o.Text("eventId", v.EventID)
		o.OptionalText("runId", v.RunID)
		o.Text("eventType", string(v.Type))
		o.OptionalText("correlationId", v.CorrelationID)
		o.OptionalWhole("specVersion", v.SpecVersion)
		o.OptionalText("resumeId", v.ResumeID)
		millis(o, map[string]world.Millis{"createdAt": v.CreatedAt, "occurredAt": v.OccurredAt})
		if v.Data != nil {
			o.Key("eventData")
			wire.Fields(e, v.Data)
		}
	})
}

func (w *writer) step(v *world.Step) {
	w.item(kindStep, func(o *wire.Object, _ *wire.Encoder) {
		o.OptionalText("runId", v.RunID)
		o.Text("stepId", v.StepID)
		o.OptionalText("stepName", v.StepName)
		o.Text("status", string(v.Status))
		o.OptionalRaw("input", v.Input)
		o.OptionalRaw("output", v.Output)
		o.OptionalRaw("error", v.Error)
		o.OptionalWhole("attempt", v.Attempt)
		o.OptionalWhole("specVersion", v.SpecVersion)
		millis(o, map[string]world.Millis{"createdAt": v.CreatedAt, "updatedAt": v.UpdatedAt, "startedAt": v.StartedAt, "completedAt": v.CompletedAt, "retryAfter": v.RetryAfter})
	})
}

func (w *writer) hook(v *world.HookCopy) {
	w.item(kindHook, func(o *wire.Object, _ *wire.Encoder) {
		o.OptionalText("runId", v.RunID)
		o.Text("hookId", v.HookID)
		o.Text("token", v.Token)
		o.OptionalText("ownerId", v.OwnerID)
		o.OptionalText("projectId", v.ProjectID)
		o.OptionalText("environment", v.Environment)
		o.OptionalRaw("metadata", v.Metadata)
		if v.IsWebhook {
			o.Flag("isWebhook", true)
		}
		if v.IsSystem {
			o.Flag("isSystem", true)
		}
		o.OptionalWhole("specVersion", v.SpecVersion)
		o.Whole("position", v.Position)
		millis(o, map[string]world.Millis{"createdAt": v.CreatedAt, "tokenRetentionUntil": v.TokenRetentionUntil})
	})
}

func (w *writer) stream(v *world.StreamCopy) {
	w.item(kindStream, func(o *wire.Object, e *wire.Encoder) {
		o.Text("name", v.Name)
		o.Whole("count", v.Count)
		if len(v.Ends) > 0 {
			o.Key("ends")
			e.Array(len(v.Ends))
			for _, end := range v.Ends {
				e.Bytes = cboritem.AppendInt(e.Bytes, end)
			}
		}
	})
}

func (w *writer) end() {
	n := w.n
	w.item(kindEnd, func(o *wire.Object, _ *wire.Encoder) {
		o.Whole("events", n.events)
		o.Whole("steps", n.steps)
		o.Whole("hooks", n.hooks)
		o.Whole("streams", n.streams)
		o.Whole("chunks", n.chunks)
	})
}
