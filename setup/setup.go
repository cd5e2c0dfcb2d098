package setup

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/world-redis/world-redis/internal/redisconn"
)

// Options say what to check and what to do.
type Options struct {
	Conn       *redisconn.Conn
	Prefix     string // of the keys; not empty
	JobPrefix  string // of the names of the two queues
	Production bool   // be stricter
	Retention  bool   // finished runs leave Redis
	JSON       bool   // print the report as JSON
	Flush      bool   // delete the installation's data instead of checking the server
	Yes        bool   // do not ask for confirmation

	In          io.Reader
	Out         io.Writer // gets the report
	Err         io.Writer // gets questions and progress; nil: Out, or nothing if Out gets JSON
	Interactive bool      // a user can answer on In
	Color       bool      // of verdicts in Out

	// Replicas reads which replicas of the service are alive; nil if that is unknown.
	Replicas func(ctx context.Context) ([]Replica, error)
	// Depths reads the depths of the queues; nil shows them as unknown.
	Depths func(ctx context.Context) ([]QueueDepth, error)
}

// call is one call of Run.
type call struct {
	options Options
	scope   scope
	report  Report
}

// Run checks the Redis, prints the result and returns it. With Flush it counts and deletes keys, and checks nothing.
// An error means that it could not do what was requested; a bad verdict is not an error.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Prefix == "" || strings.ContainsAny(o.Prefix+o.JobPrefix, "{}") || o.JobPrefix == "" {
		return Report{}, errors.New("the key prefix and the job prefix must not be empty or contain braces")
	}
	if o.Err == nil {
		o.Err = o.Out
		if o.JSON {
			o.Err = io.Discard
		}
	}
	c := call{options: o, scope: newScope(o.Prefix, o.JobPrefix), report: Report{
		Address: o.Conn.Address, Mode: string(o.Conn.Mode), Prefix: o.Prefix, JobPrefix: o.JobPrefix,
		Verdict: OK, Checks: []Check{}, Keys: []KeyCount{},
	}}
	nodes, err := findNodes(ctx, o.Conn)
	if err != nil {
		return c.report, err
	}
	work := c.inspect
	if o.Flush {
		work = c.count
	}
	if err := work(ctx, nodes); err != nil {
		return c.report, err
	}
	if !o.Flush {
		return c.report, c.print()
	}
	if !o.JSON {
		if err := c.print(); err != nil {
			return c.report, err
		}
	}
	if err := c.flush(ctx, nodes); err != nil {
		return c.report, err
	}
	return c.report, c.printFlushed()
}

func (c *call) inspect(ctx context.Context, nodes []*node) error {
	o := c.options
	checks, server, err := check(ctx, o.Conn, nodes, []Prefixes{{o.Prefix, o.JobPrefix}}, o.Production)
	if err != nil {
		return err
	}
	c.report.Server = server
	c.report.add(checks...)
	if err := c.checkGrowth(ctx); err != nil {
		return err
	}
	c.checkBuilds(ctx)
	if err := c.count(ctx, nodes); err != nil {
		return err
	}
	if c.options.Depths != nil {
		c.report.Queues, err = c.options.Depths(ctx)
		if err != nil {
			c.report.add(Check{Name: "queues", Verdict: Warn, Message: "unknown: " + err.Error()})
		}
	}
	return nil
}

func (c *call) count(ctx context.Context, nodes []*node) error {
	looked := newProgress(c.options, "looked at", lookedStep)
	if err := c.scope.count(ctx, nodes, &c.report, looked.show); err != nil {
		return err
	}
	return looked.end()
}
