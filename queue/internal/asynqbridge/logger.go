package asynqbridge

import (
	"fmt"
	"log/slog"
	"strings"
)

// logger passes on what asynq says. asynq's warnings are about polling, retries and leases that the service does in its
// place, so they are of use only to somebody who debugs.
type logger struct{ log *slog.Logger }

func (l logger) say(args []any) { l.log.Debug("asynq: " + fmt.Sprint(args...)) }

func (l logger) Debug(args ...any) { l.say(args) }
func (l logger) Info(args ...any)  { l.say(args) }
func (l logger) Warn(args ...any)  { l.say(args) }
func (l logger) Error(args ...any) {
	if len(args) > 0 && strings.HasPrefix(fmt.Sprint(args[0]), "cannot subscribe to cancelation channel") {
		return // backend.Subscribe gives it none
	}
	l.say(args)
}

// Fatal is asynq's word for the end of the process, which is not its decision.
func (l logger) Fatal(args ...any) { l.log.Error("asynq: " + fmt.Sprint(args...)) }
