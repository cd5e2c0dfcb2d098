package storagetest

import "github.com/world-redis/world-redis"

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
	attributes map[string]string
	written    map[string]bool // correlation ids of attr_set seen
	resumes    map[string]modelResume
	log        []modelEvent
}

type modelEvent struct {
	kind world.EventType
	id   string
}

func newModel(specs map[string]int) *model {
	m := &model{runs: map[string]*modelRun{}, tokens: map[string]*modelHook{}}
	for runID, spec := range specs {
		m.runs[runID] = &modelRun{
			spec: spec, steps: map[string]*modelStep{}, hooks: map[string]*modelHook{}, waits: map[string]bool{},
			attributes: map[string]string{}, written: map[string]bool{}, resumes: map[string]modelResume{},
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
		return r.setAttributes(req, done)
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
		r.attributes = firstAttributes(req.Data)
	case req.Type == world.EventRunStarted && r.status == "" && req.Data != nil:
		r.status = world.RunRunning
		r.attributes = firstAttributes(req.Data)
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

func (r *modelRun) setAttributes(req world.CreateEvent, done prediction) prediction {
	after, writer := applyChanges(r.attributes, req.Data)
	switch {
	case len(after) > world.MaxAttributes:
		return refuse(world.CodeAttributeInvalid)
	case writer == writerWorkflow && r.written[req.CorrelationID]:
		return refuse(world.CodeConflict)
	}
	r.written[req.CorrelationID] = req.CorrelationID != "" // a step's write has no id
	r.attributes = after
	return done
}

// keepsNothing reports zero retention.
func (r *modelRun) keepsNothing() bool { return r.attributes["$retention"] == "0" }

// expired reports whether the run has lost its payloads.
func (r *modelRun) expired() bool { return r.keepsNothing() && r.status.Terminal() }
