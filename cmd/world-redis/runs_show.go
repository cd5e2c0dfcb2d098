package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/world-redis/world-redis"
)

// shownRun is one run with what belongs to it; it is one line with --json.
type shownRun struct {
	printedRun
	UpdatedAt   int64          `json:"updatedAt"`
	Steps       map[string]int `json:"steps"` // by status
	Hooks       []shownHook    `json:"hooks"`
	Streams     []string       `json:"streams"`     // at most mostStreams
	MoreStreams bool           `json:"moreStreams"` // whether there are others
	Messages    []shownMessage `json:"messages"`    // neither done nor dead, at most 1,000
	Delete      string         `json:"delete"`      // what a removal would do: "removed", or why it is refused
}

type shownHook struct {
	HookID              string `json:"hookId"`
	Token               string `json:"token"`
	IsWebhook           bool   `json:"isWebhook"`
	CreatedAt           int64  `json:"createdAt"`
	TokenRetentionUntil int64  `json:"tokenRetentionUntil,omitempty"`
}

type shownMessage struct {
	MessageID string `json:"messageId"`
	Queue     string `json:"queue"`
	State     string `json:"state"`
	StepID    string `json:"stepId,omitempty"`
	Attempt   int    `json:"attempt"`
	NextAt    int64  `json:"nextAt,omitempty"`
	Reason    string `json:"reason,omitempty"`
	WaitsFor  string `json:"waitsFor,omitempty"`
}

// mostStreams is how many names of streams are shown, and mostHooks how many hooks.
const (
	mostStreams = 100
	mostHooks   = 100
)

func (s *service) showRunCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show one run: its times, attributes, steps, hooks, streams and messages",
		Long: "Shows a run, its steps by status, its live hooks, the names of its streams, the messages that wait for\n" +
			"delivery, and what `world-redis runs delete` would answer. At most 100 hooks and 100 streams are shown.\n\n" +
			"With --json it is one line: the fields of `runs ls --json`, updatedAt, steps (number by status),\n" +
			"hooks (hookId, token, isWebhook, createdAt, tokenRetentionUntil?), streams, moreStreams,\n" +
			"messages (messageId, queue, state, stepId?, attempt, nextAt?, reason?, waitsFor?), delete (\"removed\", or\n" +
			"why it would be refused).",
		Example: "  world-redis runs show wrun_01J…",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer s.keepAlive()()
			shown, err := s.readShown(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if s.asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetEscapeHTML(false)
				return encoder.Encode(shown)
			}
			writeShown(cmd.OutOrStdout(), shown)
			return nil
		},
	}
}

func (s *service) readShown(ctx context.Context, runID string) (shownRun, error) {
	r, err := s.getRun(ctx, runID)
	if err != nil {
		return shownRun{}, err
	}
	shown := shownRun{printedRun: r.printed(), UpdatedAt: r.UpdatedAt}
	if shown.Steps, err = s.countSteps(ctx, runID); err != nil {
		return shown, err
	}
	path := "/v1/runs/" + url.PathEscape(runID)
	hooks, err := read[struct{ Data []shownHook }](ctx, s, "/v1/hooks", url.Values{"runId": {runID}, "limit": {strconv.Itoa(mostHooks)}, "resolveData": {"none"}})
	if err != nil {
		return shown, err
	}
	streams, err := read[struct {
		Data    []string
		HasMore bool
	}](ctx, s, path+"/streams", url.Values{"limit": {strconv.Itoa(mostStreams)}})
	if err != nil {
		return shown, err
	}
	messages, err := read[struct{ Data []shownMessage }](ctx, s, path+"/messages", nil)
	if err != nil {
		return shown, err
	}
	shown.Hooks, shown.Streams, shown.MoreStreams, shown.Messages = hooks.Data, streams.Data, streams.HasMore, messages.Data
	shown.Delete = shown.removal(time.Now())
	return shown, nil
}

// read makes a call and decodes its answer.
func read[T any](ctx context.Context, s *service, path string, query url.Values) (T, error) {
	var v T
	answer, err := s.call(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(answer, &v); err != nil {
		return v, unexpectedAnswer(err)
	}
	return v, nil
}

// countSteps counts the steps of a run by their status, page by page.
func (s *service) countSteps(ctx context.Context, runID string) (map[string]int, error) {
	count, cursor := map[string]int{}, ""
	for {
		query := url.Values{"resolveData": {"none"}, "limit": {strconv.Itoa(world.MaxPage)}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		page, err := read[struct {
			Data    []struct{ Status string }
			Cursor  string
			HasMore bool
		}](ctx, s, "/v1/runs/"+url.PathEscape(runID)+"/steps", query)
		if err != nil {
			return nil, err
		}
		for _, step := range page.Data {
			count[step.Status]++
		}
		if !page.HasMore || page.Cursor == cursor {
			return count, nil
		}
		cursor = page.Cursor
	}
}

// removal says what a removal of the run would do.
func (r shownRun) removal(now time.Time) string {
	if slices.Contains(activeStatuses, r.Status) {
		return "refused: the run is " + r.Status + ", and can be removed once it has ended"
	}
	for _, h := range r.Hooks {
		if h.TokenRetentionUntil > now.UnixMilli() {
			return fmt.Sprintf("refused: hook %s keeps its token until %s", h.HookID, timestamp(h.TokenRetentionUntil))
		}
	}
	return runRemoved
}

func writeShown(out io.Writer, r shownRun) {
	table(out, func(w io.Writer) {
		line := func(name, value string) {
			if value != "" {
				say(w, "%s\t%s\n", name, value)
			}
		}
		line("run", r.RunID)
		line("workflow", r.WorkflowName)
		line("status", r.Status)
		line("error code", r.ErrorCode)
		line("deployment", r.DeploymentID)
		if r.SpecVersion > 0 {
			line("spec version", strconv.Itoa(r.SpecVersion))
		}
		line("created", timestamp(r.CreatedAt))
		line("started", timestamp(r.StartedAt))
		line("ended", timestamp(r.CompletedAt))
		line("updated", timestamp(r.UpdatedAt))
		line("parent", r.ParentRunID)
		for _, key := range slices.Sorted(maps.Keys(r.Attributes)) {
			line("attribute", key+"="+r.Attributes[key])
		}
		line("steps", countsInWords(r.Steps))
		for _, h := range r.Hooks {
			line("hook", h.inWords())
		}
		line("streams", strings.Join(r.Streams, ", ")+more(r.MoreStreams))
		for _, m := range r.Messages {
			line("message", m.inWords())
		}
		line("delete", r.Delete)
	})
}

func more(is bool) string {
	if is {
		return ", …"
	}
	return ""
}

// countsInWords writes 1,200 completed, 3 failed.
func countsInWords(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, thousands(counts[status])+" "+status)
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func (h shownHook) inWords() string {
	text := h.HookID + ", token " + h.Token
	if h.IsWebhook {
		text += ", a webhook"
	}
	if h.TokenRetentionUntil > 0 {
		text += ", keeps its token until " + timestamp(h.TokenRetentionUntil)
	}
	return text
}

func (m shownMessage) inWords() string {
	text := fmt.Sprintf("%s, %s, %s, attempt %d", m.MessageID, m.Queue, m.State, m.Attempt)
	if m.StepID != "" {
		text += ", " + m.StepID
	}
	if m.NextAt > 0 {
		text += ", " + until(m.NextAt)
	}
	if m.WaitsFor != "" {
		text += ", waits for " + m.WaitsFor
	}
	if m.Reason != "" {
		text += ": " + m.Reason
	}
	return text
}
