package httpapi

import (
	"net/http"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/wire"
)

// The paths that code names, too.
const (
	pathCalls     = "/v1/calls"
	pathQueue     = "/v1/queue"
	pathEvents    = "/v1/events"
	pathRunEvents = "/v1/runs/{runId}/events"
	wellKnown     = "/.well-known/workflow/v1"
)

// mostParams is how many parameters a path has at most.
const mostParams = 2

// webhookMethods are passed on to the app; a webhook may be called with any of them.
var webhookMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// operations is the table of everything that the service can be asked for. Tests compare it with the OpenAPI document, and what
// is bundled with the client's list (client/src/transport/bundles.ts).
func operations() []operation {
	const (
		get  = http.MethodGet
		post = http.MethodPost
	)
	events := encodePage(wire.EventSize, wire.Event)
	table := []operation{
		{method: post, path: pathEvents, bundled: true, serve: serves(decodeEvent, (*api).createEvent, encodeResult)},
		{method: get, path: pathEvents, serve: serves(decodeEntityEvents, inStore(world.Store.ListEvents), events)},
		{method: post, path: pathRunEvents, bundled: true, serve: serves(decodeEvent, (*api).createEvent, encodeResult)},
		{method: post, path: "/v1/runs/{runId}/events/batch", serve: serves(decodeBatch, (*api).createBatch, encodeBatch)},
		{method: get, path: pathRunEvents, serve: serves(decodeEvents, inStore(world.Store.ListEvents), events)},
		{method: get, path: "/v1/runs/{runId}/events/{eventId}", serve: serves(decodeOne("eventId"), (*api).getEvent, encodeEvent)},

		{method: post, path: pathCalls, http: (*api).bundle},
		{method: get, path: pathCalls, http: (*api).callSocket},

		{method: get, path: "/v1/runs", serve: serves(decodeRuns, inStore(world.Store.ListRuns), encodePage(wire.RunSize, wire.Run))},
		{method: post, path: "/v1/runs/get", serve: serves(decodeManyRuns, (*api).getRuns, encodeManyRuns)},
		{method: post, path: "/v1/runs/cancel", serve: serves(decodeCancel, (*api).cancelRuns, encodeCancelled)},
		// Bundled, because the path is one that a bundle takes: that of a run called lost.
		{method: get, path: "/v1/runs/lost", bundled: true, serve: serves(decodePage, (*api).lostCalls, encodePage(answeredCallSize, writeAnsweredCall))},
		{method: get, path: "/v1/runs/{runId}", bundled: true, serve: serves(decodeOne("runId"), (*api).getRun, encodeRun)},
		{method: get, path: "/v1/runs/{runId}/wait", serve: serves(decodeWait, (*api).awaitRun, encodeRun)},
		{method: post, path: "/v1/runs/{runId}/wake", serve: serves(decodeID("runId"), (*api).wakeRun, encodeWoken)},
		{method: post, path: "/v1/runs/{runId}/attributes", serve: serves(decodeAttributes, (*api).setAttributes, encodeAttributes)},
		{method: get, path: "/v1/runs/{runId}/steps", serve: serves(decodeSteps, inStore(world.Store.ListSteps), encodePage(wire.StepSize, wire.Step))},
		{method: get, path: "/v1/runs/{runId}/steps/{stepId}", bundled: true, serve: serves(decodeOne("stepId"), (*api).getStep, encodeStep)},
		{method: get, path: "/v1/steps/{stepId}", serve: serves(decodeOne("stepId"), (*api).getStep, encodeStep)},

		{method: get, path: "/v1/hooks", serve: serves(decodeHooks, inStore(world.Store.ListHooks), encodePage(wire.HookSize, wire.Hook))},
		{method: get, path: "/v1/hooks/by-token", serve: serves(decodeToken, (*api).getHookByToken, encodeHook)},
		{method: get, path: "/v1/hooks/{hookId}", serve: serves(decodeOne("hookId"), (*api).getHook, encodeHook)},

		{method: post, path: pathQueue, bundled: true, serve: serves(decodeMessage, (*api).enqueue, encodeMessageID)},
		{method: get, path: pathQueue, serve: withAdmin(serves(decodeNothing, (*api).queueDepths, encodeDepths))},
		{method: get, path: "/v1/queue/messages", serve: withAdmin(serves(decodeMessages, (*api).listMessages, encodePage(messageInfoSize, writeMessageInfo)))},
		{method: get, path: "/v1/queue/messages/{messageId}", serve: withAdmin(serves(decodeID("messageId"), (*api).getMessage, encodeMessageInfo))},
		{method: post, path: "/v1/queue/messages/{messageId}/drop", serve: withAdmin(serves(decodeID("messageId"), (*api).dropMessage, encodeDropped))},
		{method: post, path: "/v1/queue/redrive", serve: withAdmin(serves(decodeRedrive, (*api).redrive, encodeRedriven))},
		{method: post, path: "/v1/queue/{queue}/pause", serve: withAdmin(serves(decodeQueue, (*api).pauseQueue, encodeNothing))},
		{method: post, path: "/v1/queue/{queue}/resume", serve: withAdmin(serves(decodeQueue, (*api).resumeQueue, encodeNothing))},
		{method: get, path: "/v1/runs/{runId}/messages", serve: withAdmin(serves(decodeID("runId"), (*api).runMessages, encodeRunMessages))},
		{method: post, path: "/v1/apps", serve: serves(decodeApp, (*api).registerApp, encodeNothing)},
		{method: get, path: "/v1/apps", serve: serves(decodeNothing, (*api).listApps, encodeApps)},
		{method: post, path: "/v1/apps/unregister", serve: serves(decodeApp, (*api).unregisterApp, encodeNothing)},

		{method: get, path: "/v1/runs/{runId}/streams", serve: serves(decodeStreams, (*api).listStreams, encodeStreams)},
		{method: post, path: "/v1/runs/{runId}/streams/{name}", http: (*api).appendChunks},
		{method: get, path: "/v1/runs/{runId}/streams/{name}", http: (*api).readStream},
		{method: post, path: "/v1/runs/{runId}/streams/{name}/close", serve: serves(decodeClose, (*api).closeStream, encodeNothing)},
		{method: get, path: "/v1/streams/{name}", http: (*api).readStream},
		{method: get, path: "/v1/streams/{name}/chunks", serve: serves(decodeChunks, (*api).listChunks, encodeChunks)},
		{method: get, path: "/v1/streams/{name}/info", serve: serves(decodeStreamName, (*api).streamInfo, encodeStreamInfo)},

		{method: post, path: "/v1/legacy/runs", serve: serves(decodeLegacyRun, inStore(world.Store.CreateLegacyRun), encodeRun)},
		{method: post, path: "/v1/legacy/runs/{runId}", serve: serves(decodeLegacyRunUpdate, (*api).updateLegacyRun, encodeRun)},
		{method: post, path: "/v1/legacy/runs/{runId}/cancel", serve: serves(decodeLegacyMove(world.RunCancelled), (*api).updateLegacyRun, encodeRun)},
		{method: post, path: "/v1/legacy/runs/{runId}/pause", serve: serves(decodeLegacyMove(world.RunPaused), (*api).updateLegacyRun, encodeRun)},
		{method: post, path: "/v1/legacy/runs/{runId}/resume", serve: serves(decodeLegacyMove(world.RunRunning), (*api).updateLegacyRun, encodeRun)},
		{method: post, path: "/v1/legacy/runs/{runId}/steps", serve: serves(decodeLegacyStep, inStore(world.Store.CreateLegacyStep), encodeStep)},
		{method: post, path: "/v1/legacy/runs/{runId}/steps/{stepId}", serve: serves(decodeLegacyStepUpdate, inStore(world.Store.UpdateLegacyStep), encodeStep)},
		{method: post, path: "/v1/legacy/runs/{runId}/events", serve: serves(decodeLegacyEvent, inStore(world.Store.CreateLegacyEvent), encodeEvent)},
		{method: post, path: "/v1/legacy/runs/{runId}/hooks", serve: serves(decodeLegacyHook, inStore(world.Store.CreateLegacyHook), encodeHook)},
		{method: post, path: "/v1/legacy/hooks/{hookId}/dispose", serve: serves(decodeLegacyDispose, inStore(world.Store.DisposeLegacyHook), encodeHook)},

		{method: post, path: wellKnown + "/flow", status: http.StatusAccepted, serve: serves(decodeBare(world.KindFlow), (*api).enqueue, encodeMessageID)},
		{method: post, path: wellKnown + "/step", status: http.StatusAccepted, serve: serves(decodeBare(world.KindStep), (*api).enqueue, encodeMessageID)},

		{method: get, path: "/healthz", open: true, own: (*Server).healthz},
		{method: get, path: "/readyz", open: true, own: (*Server).readyz},
		{method: get, path: "/metrics", open: true, own: (*Server).metrics},
		{method: get, path: "/openapi.json", open: true, own: (*Server).serveOpenAPI},
	}
	for _, method := range webhookMethods {
		table = append(table,
			operation{method: method, path: wellKnown + "/webhook/{token}", open: true, anyHost: true, http: (*api).webhook},
			operation{method: method, path: "/ns/{namespace}" + wellKnown + "/webhook/{token}", open: true, anyHost: true, own: (*Server).namespaceWebhook})
	}
	for i := range table {
		table[i] = table[i].ready()
	}
	return table
}
