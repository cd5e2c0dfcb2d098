package operations

import (
	"context"
	"net/http"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/internal/wire"
)

// Paths that other code uses, too.
const (
	pathQueue     = "/v1/queue"
	pathEvents    = "/v1/events"
	pathRunEvents = "/v1/runs/{runId}/events"
	WellKnown     = "/.well-known/workflow/v1"
)

// MostParams is how many parameters a path has at most.
const MostParams = 2

// Table is the table of everything that any transport can carry. Tests compare it with the OpenAPI document, and what is bundled
// with the client's list (client/src/transport/bundles.ts).
func Table() []Operation {
	const (
		get  = http.MethodGet
		post = http.MethodPost
	)
	events := encodePage(wire.EventSize, wire.Event)
	table := []Operation{
		{Method: post, Path: pathEvents, bundled: true, Serve: serves(decodeEvent, (*API).createEvent, encodeResult)},
		{Method: get, Path: pathEvents, Serve: serves(decodeEntityEvents, inStore(world.Store.ListEvents), events)},
		{Method: post, Path: pathRunEvents, bundled: true, Serve: serves(decodeEvent, (*API).createEvent, encodeResult)},
		{Method: post, Path: "/v1/runs/{runId}/events/batch", Serve: serves(decodeBatch, (*API).createBatch, encodeBatch)},
		{Method: get, Path: pathRunEvents, Serve: serves(decodeEvents, inStore(world.Store.ListEvents), events)},
		{Method: get, Path: "/v1/runs/{runId}/events/{eventId}", Serve: serves(decodeOne("eventId"), (*API).getEvent, encodeEvent)},

		{Method: get, Path: "/v1/runs", Serve: serves(decodeRuns, inStore(world.Store.ListRuns), encodePage(wire.RunSize, wire.Run))},
		{Method: post, Path: "/v1/runs/get", Serve: serves(decodeManyRuns, (*API).getRuns, encodeManyRuns)},
		{Method: post, Path: "/v1/runs/cancel", Serve: serves(decodeCancel, (*API).cancelRuns, encodeCancelled)},
		// Bundled, because its path looks like that of a run with the id "lost", which may be bundled.
		{Method: get, Path: "/v1/runs/lost", bundled: true, Serve: serves(decodePage, (*API).lostCalls, encodePage(answeredCallSize, writeAnsweredCall))},
		{Method: get, Path: "/v1/runs/{runId}", bundled: true, Serve: serves(decodeOne("runId"), (*API).getRun, encodeRun)},
		{Method: http.MethodDelete, Path: "/v1/runs/{runId}", Serve: serves(decodeID("runId"), (*API).removeRun, encodeNothing)},
		{Method: get, Path: "/v1/runs/{runId}/wait", Serve: serves(decodeWait, (*API).awaitRun, encodeRun)},
		{Method: post, Path: "/v1/runs/{runId}/wake", Serve: serves(decodeID("runId"), (*API).wakeRun, encodeWoken)},
		{Method: post, Path: "/v1/runs/{runId}/attributes", Serve: serves(decodeAttributes, (*API).setAttributes, encodeAttributes)},
		{Method: get, Path: "/v1/runs/{runId}/steps", Serve: serves(decodeSteps, inStore(world.Store.ListSteps), encodePage(wire.StepSize, wire.Step))},
		{Method: get, Path: "/v1/runs/{runId}/steps/{stepId}", bundled: true, Serve: serves(decodeOne("stepId"), (*API).getStep, encodeStep)},
		{Method: get, Path: "/v1/steps/{stepId}", Serve: serves(decodeOne("stepId"), (*API).getStep, encodeStep)},

		{Method: get, Path: "/v1/hooks", Serve: serves(decodeHooks, inStore(world.Store.ListHooks), encodePage(wire.HookSize, wire.Hook))},
		{Method: get, Path: "/v1/hooks/by-token", Serve: serves(decodeToken, (*API).getHookByToken, encodeHook)},
		{Method: get, Path: "/v1/hooks/{hookId}", Serve: serves(decodeOne("hookId"), (*API).getHook, encodeHook)},

		{Method: post, Path: pathQueue, bundled: true, Serve: serves(decodeMessage, (*API).enqueue, encodeMessageID)},
		{Method: get, Path: pathQueue, Serve: withAdmin(serves(decodeNothing, (*API).queueDepths, encodeDepths))},
		{Method: get, Path: "/v1/queue/messages", Serve: withAdmin(serves(decodeMessages, (*API).listMessages, encodePage(messageInfoSize, writeMessageInfo)))},
		{Method: get, Path: "/v1/queue/messages/{messageId}", Serve: withAdmin(serves(decodeID("messageId"), (*API).getMessage, encodeMessageInfo))},
		{Method: post, Path: "/v1/queue/messages/{messageId}/drop", Serve: withAdmin(serves(decodeID("messageId"), (*API).dropMessage, encodeDropped))},
		{Method: post, Path: "/v1/queue/redrive", Serve: withAdmin(serves(decodeRedrive, (*API).redrive, encodeRedriven))},
		{Method: post, Path: "/v1/queue/{queue}/pause", Serve: withAdmin(serves(decodeQueue, (*API).pauseQueue, encodeNothing))},
		{Method: post, Path: "/v1/queue/{queue}/resume", Serve: withAdmin(serves(decodeQueue, (*API).resumeQueue, encodeNothing))},
		{Method: get, Path: "/v1/runs/{runId}/messages", Serve: withAdmin(serves(decodeID("runId"), (*API).runMessages, encodeRunMessages))},
		{Method: post, Path: "/v1/apps", Serve: serves(decodeApp, (*API).registerApp, encodeWarnings)},
		{Method: get, Path: "/v1/apps", Serve: serves(decodeNothing, (*API).listApps, encodeApps)},
		{Method: post, Path: "/v1/apps/unregister", Serve: serves(decodeApp, (*API).unregisterApp, encodeNothing)},

		{Method: get, Path: "/v1/runs/{runId}/streams", Serve: serves(decodeStreams, (*API).listStreams, encodeStreams)},
		{Method: post, Path: "/v1/runs/{runId}/streams/{name}/close", Serve: serves(decodeClose, (*API).closeStream, encodeNothing)},
		{Method: get, Path: "/v1/streams/{name}/chunks", Serve: serves(decodeChunks, (*API).listChunks, encodeChunks)},
		{Method: get, Path: "/v1/streams/{name}/info", Serve: serves(decodeStreamName, (*API).streamInfo, encodeStreamInfo)},

		{Method: post, Path: "/v1/legacy/runs", Serve: serves(decodeLegacyRun, inStore(world.Store.CreateLegacyRun), encodeRun)},
		{Method: post, Path: "/v1/legacy/runs/{runId}", Serve: serves(decodeLegacyRunUpdate, (*API).updateLegacyRun, encodeRun)},
		{Method: post, Path: "/v1/legacy/runs/{runId}/cancel", Serve: serves(decodeLegacyMove(world.RunCancelled), (*API).updateLegacyRun, encodeRun)},
		{Method: post, Path: "/v1/legacy/runs/{runId}/pause", Serve: serves(decodeLegacyMove(world.RunPaused), (*API).updateLegacyRun, encodeRun)},
		{Method: post, Path: "/v1/legacy/runs/{runId}/resume", Serve: serves(decodeLegacyMove(world.RunRunning), (*API).updateLegacyRun, encodeRun)},
		{Method: post, Path: "/v1/legacy/runs/{runId}/steps", Serve: serves(decodeLegacyStep, inStore(world.Store.CreateLegacyStep), encodeStep)},
		{Method: post, Path: "/v1/legacy/runs/{runId}/steps/{stepId}", Serve: serves(decodeLegacyStepUpdate, inStore(world.Store.UpdateLegacyStep), encodeStep)},
		{Method: post, Path: "/v1/legacy/runs/{runId}/events", Serve: serves(decodeLegacyEvent, inStore(world.Store.CreateLegacyEvent), encodeEvent)},
		{Method: post, Path: "/v1/legacy/runs/{runId}/hooks", Serve: serves(decodeLegacyHook, inStore(world.Store.CreateLegacyHook), encodeHook)},
		{Method: post, Path: "/v1/legacy/hooks/{hookId}/dispose", Serve: serves(decodeLegacyDispose, inStore(world.Store.DisposeLegacyHook), encodeHook)},

		{Method: post, Path: WellKnown + "/flow", Status: http.StatusAccepted, Serve: serves(decodeBare(world.KindFlow), (*API).enqueue, encodeMessageID)},
		{Method: post, Path: WellKnown + "/step", Status: http.StatusAccepted, Serve: serves(decodeBare(world.KindStep), (*API).enqueue, encodeMessageID)},
	}
	for i := range table {
		table[i] = table[i].ready()
	}
	return table
}

// serveFunc makes a call and returns its answer in CBOR, which the caller releases.
type serveFunc func(ctx context.Context, a *API, r *input.Request) (*wire.Encoder, error)

// serves combines the three parts of an operation. decode reads the request and refuses what
// is invalid, do calls the interfaces of world, and encode writes the result.
func serves[In, Out any](decode func(*input.Request) (In, error), do func(*API, context.Context, In) (Out, error), encode func(*wire.Encoder, Out)) serveFunc {
	return func(ctx context.Context, a *API, r *input.Request) (*wire.Encoder, error) {
		in, err := decode(r)
		if err != nil {
			return nil, err
		}
		out, err := do(a, ctx, in)
		if err != nil {
			return nil, err
		}
		e := wire.BorrowEncoder()
		encode(e, out)
		return e, nil
	}
}

// inStore is the second part of an operation that only calls a method of the store.
func inStore[In, Out any](method func(world.Store, context.Context, In) (Out, error)) func(*API, context.Context, In) (Out, error) {
	return func(a *API, ctx context.Context, in In) (Out, error) { return method(a.Deps.Store, ctx, in) }
}
