package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// wake queues one plain wake-up of a run. The queue remembers the request for ten minutes, so a run whose log does
// not grow is not woken more often than that. A failover may lose the effect of a wake-up but not the record of its
// request, so the request id changes with the masters of Redis.
func (r *Reconciler) wake(ctx context.Context, run world.Run, idle world.RunIdle, level slog.Level, why string) error {
	m, err := wakeUp(ctx, r.queue, run)
	if err != nil {
		return err
	}
	m.RequestID = "recover " + run.RunID + " " + strconv.FormatInt(idle.Events, 10)
	if masters := r.underMasters(ctx); masters != "" && masters != neverChange {
		m.RequestID += " " + masters
	}
	id, err := r.queue.Enqueue(ctx, m)
	if err != nil {
		return err
	}
	r.cfg.Logger.Log(ctx, level, why,
		slog.String("run_id", run.RunID), slog.String("workflow", run.WorkflowName), slog.Int64("events", idle.Events),
		slog.Time("still_since", idle.LastAt.Time()), slog.String("message", id))
	r.cfg.Woken()
	return nil
}

// underMasters returns a text that changes with the masters of Redis. It is empty while the masters are not known.
func (r *Reconciler) underMasters(ctx context.Context) string {
	if r.masters == nil {
		text, err := r.cfg.Masters.text(ctx)
		if err != nil {
			text = ""
		}
		r.masters = &text
	}
	return *r.masters
}

// WakeQueue accepts wake-ups.
type WakeQueue interface {
	world.Queue
	// ListApps returns the apps, which say in which namespace of queue names a deployment listens.
	ListApps(ctx context.Context) ([]world.App, error)
}

// wakeUp builds the message that the SDK's own recovery would send (contract §5.7).
func wakeUp(ctx context.Context, queue WakeQueue, run world.Run) (world.Message, error) {
	namespace, err := namespaceOf(ctx, queue, run.DeploymentID)
	if err != nil {
		return world.Message{}, err
	}
	m := world.Message{
		QueueName:    "__" + namespace + "wkf_workflow_" + run.WorkflowName,
		DeploymentID: run.DeploymentID, RunID: run.RunID, Plain: true,
	}
	body := map[string]string{"runId": run.RunID}
	if run.SpecVersion < firstBytesSpec {
		m.ContentType = "application/cbor"
		if run.SpecVersion > 1 {
			m.SDK = "v4"
		}
		m.Body, err = cbor.Marshal(body)
	} else {
		m.SDK, m.ContentType = "v5", "application/json"
		m.Body, err = json.Marshal(body)
	}
	if err != nil {
		return m, fmt.Errorf("encode wake-up: %w", err)
	}
	return m, nil
}

// namespaceOf returns the text before "wkf_" in the queue names of a deployment.
func namespaceOf(ctx context.Context, queue WakeQueue, deploymentID string) (string, error) {
	apps, err := queue.ListApps(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range apps {
		if a.DeploymentID == deploymentID && a.Namespace != "" {
			return a.Namespace + "_", nil
		}
	}
	return "", nil
}
