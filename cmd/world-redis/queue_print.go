package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// The printed fields of the service's answers.
type (
	messageLine struct {
		MessageID, Queue, State, QueueName, RunID, StepID, DeploymentID, IdempotencyKey string
		EnqueuedAt, NextAt, EndedAt                                                     int64 // ms
		Attempt, Failed, Rescheduled, Size                                              int
		Reason, WaitsFor, ContentType                                                   string
	}
	messagePage struct {
		Data    []messageLine
		Cursor  string
		HasMore bool
	}
	depthList struct {
		Data []struct {
			Queue                                                       string
			Paused                                                      bool
			Pending, Active, Scheduled, Retry, Stalled, Dead, Completed int64
			OldestPendingSince                                          int64 // ms
		}
	}
	redriveAnswer struct {
		Redriven int
		Results  []struct{ MessageID, RunID, Outcome string }
	}
)

// redriveWords describes what happened to a dead message.
func redriveWords(outcome string) string {
	switch outcome {
	case "redriven":
		return "is delivered again"
	case "not_dead":
		return "is not dead"
	case "key_held":
		return "stays dead: another message has its idempotency key now"
	case "run_ended":
		return "stays dead: its run has ended (--force delivers it anyway)"
	default:
		return outcome
	}
}

// say prints. An error of a closed output is ignored.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

func unexpectedAnswer(err error) error {
	return fmt.Errorf("the answer is not one of world-redis (see --url): %w", err)
}

// show prints an answer: unchanged with --json, otherwise with write.
func show[T any](s *service, out io.Writer, answer []byte, write func(T)) error {
	if s.asJSON {
		say(out, "%s\n", answer)
		return nil
	}
	var v T
	if err := json.Unmarshal(answer, &v); err != nil {
		return unexpectedAnswer(err)
	}
	write(v)
	return nil
}

// table aligns columns. Every cell of a line except the last ends with \t.
func table(out io.Writer, write func(w io.Writer)) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	write(w)
	_ = w.Flush() // see say
}

func writeDepths(out io.Writer, d depthList) {
	table(out, func(w io.Writer) {
		say(w, "QUEUE\tPENDING\tOLDEST\tACTIVE\tSCHEDULED\tRETRY\tSTALLED\tDEAD\tCOMPLETED\t\n")
		for _, q := range d.Data {
			paused := ""
			if q.Paused {
				paused = "PAUSED"
			}
			say(w, "%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", q.Queue, q.Pending, ago(q.OldestPendingSince), q.Active, q.Scheduled, q.Retry, q.Stalled, q.Dead, q.Completed, paused)
		}
	})
	say(out, "\n")
}

func writeMessages(out io.Writer, messages []messageLine) {
	if len(messages) == 0 {
		say(out, "no messages\n")
		return
	}
	table(out, func(w io.Writer) {
		say(w, "MESSAGE\tQUEUE\tSTATE\tRUN\tSTEP\tATTEMPT\tAGE\tNEXT\tREASON\n")
		for _, m := range messages {
			say(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", m.MessageID, m.Queue, m.State, dash(m.RunID), dash(m.StepID), m.Attempt, ago(m.EnqueuedAt), until(m.NextAt), dash(m.Reason))
		}
	})
}

func writeMessage(out io.Writer, m messageLine) {
	table(out, func(w io.Writer) {
		for _, line := range [][2]string{
			{"message", m.MessageID},
			{"queue", m.Queue + ", " + m.QueueName},
			{"state", m.State},
			{"run", m.RunID},
			{"step", m.StepID},
			{"deployment", m.DeploymentID},
			{"waits for", m.WaitsFor},
			{"idempotency key", m.IdempotencyKey},
			{"enqueued", timestamp(m.EnqueuedAt)},
			{"next delivery", timestamp(m.NextAt)},
			{"ended", timestamp(m.EndedAt)},
			{"attempt", fmt.Sprint(m.Attempt)},
			{"failed", fmt.Sprint(m.Failed)},
			{"rescheduled", fmt.Sprint(m.Rescheduled)},
			{"reason", m.Reason},
			{"body", fmt.Sprintf("%d bytes of %s", m.Size, m.ContentType)},
		} {
			if line[1] != "" {
				say(w, "%s\t%s\n", line[0], line[1])
			}
		}
	})
}

func writeRedriven(out io.Writer, r redriveAnswer) {
	if len(r.Results) == 0 {
		say(out, "no dead messages\n")
		return
	}
	for _, one := range r.Results {
		say(out, "%s %s\n", one.MessageID, redriveWords(one.Outcome))
	}
	if len(r.Results) > 1 {
		say(out, "%d of %d are delivered again\n", r.Redriven, len(r.Results))
	}
}

func timestamp(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func ago(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return max(0, time.Since(time.UnixMilli(ms))).Round(time.Second).String()
}

func until(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return "in " + max(0, time.Until(time.UnixMilli(ms))).Round(time.Second).String()
}
