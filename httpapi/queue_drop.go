package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// dropMessage serves POST /v1/queue/messages/{messageId}/drop.
func (s *Server) dropMessage(c echo.Context) error {
	id, err := pathID(c, "messageId")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	info, err := s.deps.Admin.GetMessage(ctx, id)
	if err != nil {
		return err
	}
	outcome, err := s.deps.Admin.DropMessage(ctx, id)
	if err != nil {
		return err
	}
	e := newEncoder(256)
	o := e.object()
	o.text("messageId", id)
	o.text("outcome", string(outcome))
	o.text("state", string(info.State))
	o.optionalText("runId", info.RunID)
	if info.RunID != "" {
		left, err := s.deps.Admin.CountRunMessages(ctx, info.RunID)
		if err != nil {
			return err
		}
		o.whole("left", left)
	}
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}
