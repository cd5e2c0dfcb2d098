package httpapi

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// redriven is what became of one dead message.
type redriven struct {
	messageID, runID string
	outcome          world.RedriveOutcome
}

// redrive serves POST /v1/queue/redrive: one message, those of a run, or all of them. A
// message whose run has ended would change nothing any more, so it is left unless forced.
func (s *Server) redrive(c echo.Context) error {
	body, err := s.readObject(c)
	if err != nil {
		return err
	}
	messageID, runID, all := body.id("messageId"), body.id("runId"), body.flag("all")
	force, name := body.flag("force"), body.text("queue", maxResolve)
	if body.err != nil {
		return body.err
	}
	query := world.MessageQuery{State: world.MessageDead, RunID: runID}
	if name != "" {
		if query.Kind, err = kindOf(name); err != nil {
			return err
		}
	}
	ctx := c.Request().Context()
	var dead []world.MessageInfo
	switch {
	case messageID != "" && runID == "" && !all:
		info, err := s.deps.Admin.GetMessage(ctx, messageID)
		if err != nil {
			return err
		}
		dead = []world.MessageInfo{info}
	case messageID == "" && (runID != "") != all:
		if dead, err = s.deadMessages(ctx, query); err != nil {
			return err
		}
		if runID != "" && len(dead) == 0 {
			if err := s.checkRun(ctx, runID); err != nil {
				return err
			}
		}
	default:
		return invalid("the body must have one of messageId, runId and all")
	}
	results, err := s.redriveAll(ctx, dead, force)
	if err != nil {
		return err
	}
	return s.answer(c, http.StatusOK, encodeRedriven(results))
}

// deadMessages reads them all before any is touched, so that none is passed over. The queue
// keeps no more than it can be asked for.
func (s *Server) deadMessages(ctx context.Context, query world.MessageQuery) ([]world.MessageInfo, error) {
	var dead []world.MessageInfo
	query.Page.Limit = maxLimit
	for {
		page, err := s.deps.Admin.ListMessages(ctx, query)
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

func (s *Server) redriveAll(ctx context.Context, dead []world.MessageInfo, force bool) ([]redriven, error) {
	ended := map[string]bool{}
	if !force {
		var err error
		if ended, err = s.endedRuns(ctx, dead); err != nil {
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
			if r.outcome, err = s.deps.Admin.Redrive(ctx, m.MessageID); err != nil {
				return nil, err
			}
		}
		results = append(results, r)
	}
	return results, nil
}

// endedRuns tells which runs of the messages have ended or are gone.
func (s *Server) endedRuns(ctx context.Context, messages []world.MessageInfo) (map[string]bool, error) {
	ended, asked := map[string]bool{}, map[string]bool{}
	var runIDs []string
	for _, m := range messages {
		if m.RunID != "" && !asked[m.RunID] {
			asked[m.RunID] = true
			runIDs = append(runIDs, m.RunID)
		}
	}
	for len(runIDs) > 0 {
		runs, err := s.deps.Store.GetRuns(ctx, runIDs[:min(len(runIDs), world.MaxGetRuns)], true)
		if err != nil {
			return nil, err
		}
		for i, run := range runs {
			// The message that creates a run may come before the run is there.
			ended[runIDs[i]] = run != nil && run.Status.Terminal()
		}
		runIDs = runIDs[len(runs):]
	}
	return ended, nil
}

func encodeRedriven(results []redriven) []byte {
	e := newEncoder(64 + 128*len(results))
	count := int64(0)
	o := e.object()
	o.key("results")
	e.array(len(results))
	for _, r := range results {
		if r.outcome == world.Redriven {
			count++
		}
		one := e.object()
		one.text("messageId", r.messageID)
		one.optionalText("runId", r.runID)
		one.text("outcome", string(r.outcome))
		one.end()
	}
	o.whole("redriven", count)
	o.end()
	return e.bytes
}
