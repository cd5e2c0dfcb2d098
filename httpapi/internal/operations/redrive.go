package operations

import (
	"context"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/input"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/wire"
)

// redriven is the outcome of one dead message.
type redriven struct {
	messageID, runID string
	outcome          world.RedriveOutcome
}

// redriveRequest selects one dead message, those of a run, or all.
type redriveRequest struct {
	messageID  string
	all, force bool
	query      world.MessageQuery // selects the dead messages, unless messageID does
}

func decodeRedrive(r *input.Request) (redriveRequest, error) {
	body := r.Object()
	req := redriveRequest{messageID: body.ID("messageId"), query: world.MessageQuery{State: world.MessageDead, RunID: body.ID("runId")}, all: body.Flag("all"), force: body.Flag("force")}
	name := body.Text("queue", input.MaxResolve)
	if body.Err != nil {
		return req, body.Err
	}
	if name != "" {
		var err error
		if req.query.Kind, err = kindOf(name); err != nil {
			return req, err
		}
	}
	given := 0
	for _, one := range []bool{req.messageID != "", req.query.RunID != "", req.all} {
		if one {
			given++
		}
	}
	if given != 1 {
		return req, refuse.Invalid("the body must have one of messageId, runId and all")
	}
	return req, nil
}

// redrive makes dead messages pending again. A message whose run has ended would change nothing, so it is skipped unless forced.
func (a *API) redrive(ctx context.Context, req redriveRequest) ([]redriven, error) {
	if req.messageID != "" {
		info, err := a.Deps.Admin.GetMessage(ctx, req.messageID)
		if err != nil {
			return nil, err
		}
		return a.redriveAll(ctx, []world.MessageInfo{info}, req.force)
	}
	dead, err := a.deadMessages(ctx, req.query)
	if err == nil && req.query.RunID != "" && len(dead) == 0 {
		err = a.checkRun(ctx, req.query.RunID)
	}
	if err != nil {
		return nil, err
	}
	return a.redriveAll(ctx, dead, req.force)
}

// deadMessages reads all dead messages before any is changed, so that paging skips none. The queue
// limits how many there are.
func (a *API) deadMessages(ctx context.Context, query world.MessageQuery) ([]world.MessageInfo, error) {
	var dead []world.MessageInfo
	query.Page.Limit = world.MaxPage
	for {
		page, err := a.Deps.Admin.ListMessages(ctx, query)
		if err != nil {
			return nil, err
		}
		dead = append(dead, page.Data...)
		if !page.HasMore {
			return dead, nil
		}
		query.Page.Cursor = page.Cursor
	}
}

func (a *API) redriveAll(ctx context.Context, dead []world.MessageInfo, force bool) ([]redriven, error) {
	ended := map[string]bool{}
	if !force {
		var err error
		if ended, err = a.endedRuns(ctx, dead); err != nil {
			return nil, err
		}
	}
	results := make([]redriven, 0, len(dead))
	for _, m := range dead {
		r := redriven{messageID: m.MessageID, runID: m.RunID, outcome: world.RedriveEnded}
		switch {
		case m.State != world.MessageDead:
			r.outcome = world.RedriveNotDead
		case !ended[m.RunID]:
			var err error
			if r.outcome, err = a.Deps.Admin.Redrive(ctx, m.MessageID); err != nil {
				return nil, err
			}
		}
		results = append(results, r)
	}
	return results, nil
}

// endedRuns returns which runs of the messages have ended.
func (a *API) endedRuns(ctx context.Context, messages []world.MessageInfo) (map[string]bool, error) {
	ended, asked := map[string]bool{}, map[string]bool{}
	var runIDs []string
	for _, m := range messages {
		if m.RunID != "" && !asked[m.RunID] {
			asked[m.RunID] = true
			runIDs = append(runIDs, m.RunID)
		}
	}
	for len(runIDs) > 0 {
		runs, err := a.Deps.Store.GetRuns(ctx, runIDs[:min(len(runIDs), world.MaxGetRuns)], true)
		if err != nil {
			return nil, err
		}
		for i, run := range runs {
			// A run that is not found may still be created by its message.
			ended[runIDs[i]] = run != nil && run.Status.Terminal()
		}
		runIDs = runIDs[len(runs):]
	}
	return ended, nil
}

func encodeRedriven(e *wire.Encoder, results []redriven) {
	e.Grow(64 + 128*len(results))
	count := int64(0)
	o := e.Object()
	o.Key("results")
	e.Array(len(results))
	for _, r := range results {
		if r.outcome == world.Redriven {
			count++
		}
		one := e.Object()
		one.Text("messageId", r.messageID)
		one.OptionalText("runId", r.runID)
		one.Text("outcome", string(r.outcome))
		one.End()
	}
	o.Whole("redriven", count)
	o.End()
}
