package storage

import (
	"slices"

	"github.com/world-redis/world-redis"
)

// model is what the contract (§3.2 to §3.6) makes of calls, one after the other, in plain Go.
type model struct {
	runs   map[string]*modelRun
	tokens map[string]*modelHook // who was the last to get a token
}

type modelRun struct {
	spec       int
	status     world.RunStatus // empty: there is no such run
	steps      map[string]*modelStep
	hooks      map[string]*modelHook
	waits      map[string]bool // whether it is over
	attributes map[string]bool // correlation ids seen
	resumes    map[string]modelResume
	log        []modelEvent
}

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

type modelEvent struct {
	kind world.EventType
	id   string
}

func newModel(specs map[string]int) *model {
	m := &model{runs: map[string]*modelRun{}, tokens: map[string]*modelHook{}}
	for runID, spec := range specs {
		m.runs[runID] = &modelRun{
			spec: spec, steps: map[string]*modelStep{}, hooks: map[string]*modelHook{}, waits: map[string]bool{},
			attributes: map[string]bool{}, resumes: map[string]modelResume{},
		}
	}
	return m
}

// prediction is the answer that a call must get.
type prediction struct {
	code     world.Code
	appended []modelEvent
	recorded world.EventType // of the event answered, when an earlier call has appended it
}

func refuse(code world.Code) prediction { return prediction{code: code} }

// call applies a call that is no repeat.
func (m *model) call(req world.CreateEvent, now world.Millis) prediction {
	r := m.runs[req.RunID]
	p := r.predict(m, req, now)
	r.log = append(r.log, p.appended...)
	return p
}

func (r *modelRun) predict(m *model, req world.CreateEvent, now world.Millis) prediction {
	id := req.CorrelationID
	done := prediction{appended: []modelEvent{{req.Type, id}}}
	switch req.Type {
	case world.EventRunCreated, world.EventRunStarted, world.EventRunCompleted, world.EventRunFailed, world.EventRunCancelled:
		return r.predictRun(req, done)
	case world.EventStepCreated, world.EventStepStarted, world.EventStepRetrying, world.EventStepCompleted, world.EventStepFailed:
		return r.predictStep(req, now, done)
	case world.EventHookReceived, world.EventHookDisposed:
		return r.predictHook(req, now, done)
	}
	switch over, seen := r.waits[id]; {
	case req.Type == world.EventWaitCompleted && !seen:
		return refuse(world.CodeWaitNotFound)
	case req.Type == world.EventWaitCompleted && over:
		return refuse(world.CodeConflict)
	case req.Type == world.EventWaitCompleted && r.status.Terminal():
		return refuse(world.CodeWaitNotFound)
	case req.Type == world.EventWaitCompleted:
		r.waits[id] = true
		return done
	case r.status == "":
		return refuse(world.CodeRunNotFound)
	case req.Type == world.EventHookCreated:
		return r.createHook(m, req, now, done)
	case req.Type == world.EventAttrSet && r.spec < 4:
		return refuse(world.CodeAttributeInvalid)
	case r.status.Terminal():
		return refuse(world.CodeConflict)
	case req.Type == world.EventAttrSet:
		if r.attributes[id] {
			return refuse(world.CodeConflict)
		}
		r.attributes[id] = id != "" // a step's write has no id
	default: // wait_created
		if seen {
			return refuse(world.CodeConflict)
		}
		r.waits[id] = false
	}
	return done
}

func (r *modelRun) predictRun(req world.CreateEvent, done prediction) prediction {
	ends := map[world.EventType]world.RunStatus{
		world.EventRunCompleted: world.RunCompleted,
		world.EventRunFailed:    world.RunFailed, world.EventRunCancelled: world.RunCancelled,
	}
	switch {
	case req.Type == world.EventRunCreated && r.status != "":
		return refuse(world.CodeConflict)
	case req.Type == world.EventRunCreated:
		r.status = world.RunPending
	case req.Type == world.EventRunStarted && r.status == "" && req.Data != nil:
		r.status = world.RunRunning
		done.appended = []modelEvent{{kind: world.EventRunCreated}, {kind: world.EventRunStarted}}
	case r.status == "":
		return refuse(world.CodeRunNotFound)
	case req.Type == world.EventRunStarted && r.status.Terminal():
		return refuse(world.CodeRunExpired)
	case req.Type == world.EventRunStarted && r.status == world.RunRunning:
		return prediction{}
	case req.Type == world.EventRunStarted:
		r.status = world.RunRunning
	case r.status.Terminal() && (req.Type != world.EventRunCancelled || r.status != world.RunCancelled):
		return refuse(world.CodeConflict)
	default:
		r.status = ends[req.Type]
	}
	return done
}

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
		step.retryAfter, _ = millisField(req.Data, "retryAfter")
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
	hook := &modelHook{run: r, id: req.CorrelationID, token: textField(req.Data, "token")}
	r.hooks[hook.id] = hook
	if m.tokens[hook.token].lives(now) {
		hook.conflict = true
		done.appended[0].kind = world.EventHookConflict
		return done
	}
	hook.open = true
	hook.retained, _ = millisField(req.Data, "tokenRetentionUntil")
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
