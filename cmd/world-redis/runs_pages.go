package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/world-redis/world-redis"
)

// runLine is one run of the service's lists.
type runLine struct {
	RunID, Status, WorkflowName, DeploymentID, ErrorCode    string
	SpecVersion                                             int
	Attributes                                              map[string]string
	CreatedAt, UpdatedAt, StartedAt, CompletedAt, ExpiredAt int64 // ms
}

// printedRun is a run as --json prints it, on one line. Times are epoch milliseconds; absent fields are left out.
type printedRun struct {
	RunID        string            `json:"runId"`
	Status       string            `json:"status"`
	WorkflowName string            `json:"workflowName"`
	DeploymentID string            `json:"deploymentId"`
	CreatedAt    int64             `json:"createdAt"`
	StartedAt    int64             `json:"startedAt,omitempty"`
	CompletedAt  int64             `json:"completedAt,omitempty"`
	ParentRunID  string            `json:"parentRunId,omitempty"`
	ErrorCode    string            `json:"errorCode,omitempty"`
	SpecVersion  int               `json:"specVersion,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
}

func (r runLine) printed() printedRun {
	return printedRun{
		RunID: r.RunID, Status: r.Status, WorkflowName: r.WorkflowName, DeploymentID: r.DeploymentID, CreatedAt: r.CreatedAt,
		StartedAt: r.StartedAt, CompletedAt: r.CompletedAt, ParentRunID: r.Attributes[parentAttribute], ErrorCode: r.ErrorCode,
		SpecVersion: r.SpecVersion, Attributes: r.Attributes,
	}
}

// runPage is one page of runs.
type runPage struct {
	Data    []runLine
	Cursor  string
	HasMore bool
	from    string // the cursor that it was requested with
}

// runPages yields the pages that the filter's part in the service selects, in the given order. limit is the most runs of a page.
// An error is the last that it yields.
func (s *service) runPages(ctx context.Context, f *runFilter, order world.Order, cursor string, limit int) iter.Seq2[runPage, error] {
	return func(yield func(runPage, error) bool) {
		for {
			page, err := s.runPage(ctx, f, order, cursor, limit)
			if !yield(page, err) || err != nil || !page.HasMore {
				return
			}
			cursor = page.Cursor
		}
	}
}

func (s *service) runPage(ctx context.Context, f *runFilter, order world.Order, cursor string, limit int) (runPage, error) {
	page := runPage{from: cursor}
	query := f.query()
	query.Set("sortOrder", string(order))
	query.Set("limit", strconv.Itoa(min(limit, world.MaxPage)))
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	answer, err := s.call(ctx, http.MethodGet, "/v1/runs", query, nil)
	if err != nil {
		return page, err
	}
	if err := json.Unmarshal(answer, &page); err != nil {
		return page, unexpectedAnswer(err)
	}
	if page.HasMore && page.Cursor == cursor {
		return page, fmt.Errorf("the service's list of runs does not go on after the cursor %q", cursor)
	}
	return page, nil
}

// getRun reads one run without its values.
func (s *service) getRun(ctx context.Context, runID string) (runLine, error) {
	var r runLine
	answer, err := s.call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(runID), url.Values{"resolveData": {"none"}}, nil)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return r, unexpectedAnswer(err)
	}
	return r, nil
}
