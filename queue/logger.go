package queue

import (
	"fmt"
	"log/slog"
	"strings"
)

// asynqLogger passes on what asynq says. asynq's warnings are about polling, retries and
// leases that we do in its place, so they are of use only to somebody who debugs.
type asynqLogger struct{ log *slog.Logger }

func (l asynqLogger) say(args []any) { l.log.Debug("asynq: " + fmt.Sprint(args...)) }

func (l asynqLogger) Debug(args ...any) { l.say(args) }
func (l asynqLogger) Info(args ...any)  { l.say(args) }
func (l asynqLogger) Warn(args ...any)  { l.say(args) }
func (l asynqLogger) Error(args ...any) {
	if len(args) > 0 && strings.HasPrefix(fmt.Sprint(args[0]), "cannot subscribe to cancelation channel") {
		return // backend.Subscribe lets it find none
	}
	l.say(args)
}

// Fatal is asynq's word for the end of the process, which is not its decision.
func (l asynqLogger) Fatal(args ...any) { l.log.Error("asynq: " + fmt.Sprint(args...)) }
