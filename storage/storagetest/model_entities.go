package storagetest

import (
	"slices"

	"github.com/world-redis/world-redis"
)

type modelStep struct {
	status     world.RunStatus // steps have the names of runs
	attempt    int
	retryAfter world.Millis
}

type modelHook struct {
	run      *modelRun
	id       string
	token    string
	retained world.Millis
	open     bool // neither disposed nor a conflict
	conflict bool
}

func (h *modelHook) lives(now world.Millis) bool {
	return h != nil && h.open && (!h.run.status.Terminal() || h.retained > now)
}

type modelResume struct{ hook, digest string }

func (r *modelRun) predictStep(req world.CreateEvent, now world.Millis, done prediction) prediction {
	step, ended := r.steps[req.CorrelationID], r.status.Terminal()
	lazy := req.Type == world.EventStepStarted && req.Data.Has("input")
	if req.Type == world.EventStepCreated || lazy {
		switch {
		case r.status == "":
			return refuse(world.CodeRunNotFound)
		case ended || step != nil:
			return refuse(world.CodeConflict)
		}
		step = &modelStep{status: world.RunPending}
		r.steps[req.CorrelationID] = step
		if lazy {
			step.status, step.attempt = world.RunRunning, 1
			done.appended = append([]modelEvent{{world.EventStepCreated, req.CorrelationID}}, done.appended...)
		}
		return done
	}
	starts := req.Type == world.EventStepStarted
	consults := starts || req.Type == world.EventStepFailed
	switch {
	case step == nil && ended && consults:
		return refuse(world.CodeRunExpired)
	case step == nil:
		return refuse(world.CodeStepNotFound)
	case step.status.Terminal():
		return refuse(world.CodeConflict)
	case ended && consults && (step.status != world.RunRunning || (starts && r.spec >= 4)):
		return refuse(world.CodeRunExpired)
	case starts && step.retryAfter > now:
		return refuse(world.CodeTooEarly)
	}
	switch req.Type {
	case world.EventStepStarted:
		step.status, step.retryAfter = world.RunRunning, 0
		step.attempt++
	case world.EventStepRetrying:
		step.status = world.RunPending
		step.retryAfter = millisOf(req.Data, "retryAfter")
	case world.EventStepCompleted:
		step.status = world.RunCompleted
	case world.EventStepFailed:
		step.status = world.RunFailed
	}
	return done
}

func (r *modelRun) createHook(m *model, req world.CreateEvent, now world.Millis, done prediction) prediction {
	before := r.hooks[req.CorrelationID]
	switch {
	case r.status.Terminal():
		return refuse(world.CodeConflict)
	case before != nil && before.conflict:
		return prediction{recorded: world.EventHookConflict}
	case before != nil:
		return refuse(world.CodeConflict)
	}
	hook := &modelHook{run: r, id: req.CorrelationID, token: textOf(req.Data, "token")}
	r.hooks[hook.id] = hook
	if m.tokens[hook.token].lives(now) {
		hook.conflict = true
		done.appended[0].kind = world.EventHookConflict
		return done
	}
	hook.open = true
	hook.retained = millisOf(req.Data, "tokenRetentionUntil")
	m.tokens[hook.token] = hook
	return done
}

func (r *modelRun) predictHook(req world.CreateEvent, now world.Millis, done prediction) prediction {
	if taken, ok := r.resumes[req.ResumeID]; ok && req.ResumeID != "" {
		known := []string{"", taken.digest}
		if taken.hook != req.CorrelationID || (taken.digest != "" && !slices.Contains(known, req.ResumePayloadDigest)) {
			return refuse(world.CodeConflict)
		}
		return prediction{recorded: world.EventHookReceived}
	}
	hook := r.hooks[req.CorrelationID]
	switch {
	case !hook.lives(now):
		return refuse(world.CodeHookNotFound)
	case r.status.Terminal():
		return refuse(world.CodeRunExpired)
	case req.Type == world.EventHookDisposed:
		hook.open = false
	case req.ResumeID != "":
		r.resumes[req.ResumeID] = modelResume{req.CorrelationID, req.ResumePayloadDigest}
	}
	return done
}
