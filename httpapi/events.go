package httpapi

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// entityEventsLimit is the default limit of a list by correlation id.
const entityEventsLimit = 100

// createRunEvent serves the call without a run id: a run_created whose id we mint.
func (s *Server) createRunEvent(c echo.Context) error { return s.appendEvent(c, "") }

func (s *Server) createEvent(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	return s.appendEvent(c, runID)
}

func (s *Server) appendEvent(c echo.Context, runID string) error {
	body, err := s.readItem(c)
	if err != nil {
		return err
	}
	result, err := s.makeEvent(c.Request().Context(), runID, requestID(c), body)
	if err != nil {
		return err
	}
	return answerOne(s, c, &result, resultSize(&result), writeResult)
}

// makeEvent is the call itself, however it came.
func (s *Server) makeEvent(ctx context.Context, runID, requestID string, body world.Raw) (world.EventResult, error) {
	req, err := s.codec.eventRequest(body)
	if err != nil {
		return world.EventResult{}, err
	}
	if runID == "" && req.Type != world.EventRunCreated {
		return world.EventResult{}, invalid("runId is required for %s events", req.Type)
	}
	req.RunID = runID
	req.RequestID = requestID
	result, err := s.deps.Store.CreateEvent(ctx, req)
	if err != nil {
		return world.EventResult{}, err
	}
	s.runEndedBy(req.Type, runID)
	return result, nil
}

func (s *Server) getEvent(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	eventID, err := pathID(c, "eventId")
	if err != nil {
		return err
	}
	_, none, err := getQuery(c)
	if err != nil {
		return err
	}
	event, err := s.deps.Store.GetEvent(c.Request().Context(), runID, eventID, none)
	if err != nil {
		return err
	}
	return answerOne(s, c, &event, eventSize(&event), writeEvent)
}

func (s *Server) listEvents(c echo.Context) error {
	runID, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	_, page, none, err := listQuery(c)
	if err != nil {
		return err
	}
	return s.answerEvents(c, world.EventQuery{RunID: runID, Page: page, ResolveNone: none})
}

func (s *Server) listEntityEvents(c echo.Context) error {
	q, page, none, err := listQuery(c)
	if err != nil {
		return err
	}
	want := world.EventQuery{Page: page, ResolveNone: none}
	if want.Page.Limit == 0 {
		want.Page.Limit = entityEventsLimit
	}
	if want.RunID, err = q.id("runId"); err != nil {
		return err
	}
	if want.CorrelationID, err = q.id("correlationId"); err != nil {
		return err
	}
	if want.CorrelationID == "" {
		return invalid("correlationId is missing")
	}
	return s.answerEvents(c, want)
}

func (s *Server) answerEvents(c echo.Context, want world.EventQuery) error {
	events, err := s.deps.Store.ListEvents(c.Request().Context(), want)
	if err != nil {
		return err
	}
	return answerPage(s, c, events, sizes(events.Data, eventSize), writeEvent)
}
