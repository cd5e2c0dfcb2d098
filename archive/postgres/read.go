package postgres

import (
	"context"
	"iter"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/world-redis/world-redis"
)

// pageRows is the number of rows that are read at a time.
const pageRows = 500

// read runs a query and returns all its rows. It takes as long as a statement may.
func read[T any](ctx context.Context, a *Archive, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTime)
	defer cancel()
	if err := a.ready(ctx); err != nil {
		return nil, err
	}
	rows, err := a.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, failure(err)
	}
	out, err := pgx.CollectRows(rows, scan)
	return out, failure(err)
}

// numbered is a row with its place, and the number of rows that the page would have without its limit of bytes.
type numbered[T any] struct {
	value T
	place int64
	rows  int64
}

// walk yields rows page by page.
type walk struct {
	archive     *Archive
	runID       string
	query       pageQuery
	from        int64
	backwards   bool
	resolveNone bool
	args        []any
}

func each[T any](ctx context.Context, w walk, scan pgx.RowToFunc[numbered[T]]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		// The first page is small: many callers want one row.
		for from, limit := w.from, 50; ; limit = pageRows {
			args := append([]any{w.archive.namespace, toText(w.runID), from, limit, !w.resolveNone}, w.args...)
			page, err := read(ctx, w.archive, scan, string(w.query), args...)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range page {
				if !yield(row.value, nil) {
					return
				}
			}
			if len(page) == 0 || int64(len(page)) == page[0].rows && len(page) < limit {
				return
			}
			if from = page[len(page)-1].place + 1; w.backwards {
				from -= 2
			}
		}
	}
}

// Parts implements world.Archive. A page of at most 500 rows and 8 MiB is in memory, but always one row.
func (a *Archive) Parts(ctx context.Context, runID string, want world.ArchivedParts) iter.Seq2[world.RunPart, error] {
	return func(yield func(world.RunPart, error) bool) {
		p := partReader{ctx: ctx, archive: a, runID: runID, want: want, yield: yield}
		switch want.Kind {
		case world.PartEvents:
			p.events()
		case world.PartSteps:
			p.steps()
		case world.PartStreams:
			p.streams(false)
		case world.PartChunks:
			p.oneStream()
		case world.PartAll:
			_ = p.events() && p.steps() && p.hooks() && p.streams(true)
		}
	}
}

// partReader yields parts. Its methods return false when the caller, or an error, has ended the iteration.
type partReader struct {
	ctx     context.Context
	archive *Archive
	runID   string
	want    world.ArchivedParts
	yield   func(world.RunPart, error) bool
}

func (p *partReader) walk(forward, backward pageQuery, from int64) walk {
	w := walk{archive: p.archive, runID: p.runID, query: forward, from: from, resolveNone: p.want.ResolveNone}
	if p.want.Backwards && backward != "" {
		w.query, w.backwards = backward, true
	}
	return w
}

func yieldAll[T any](p *partReader, rows iter.Seq2[T, error], part func(*T) world.RunPart) bool {
	for row, err := range rows {
		if err != nil {
			p.yield(world.RunPart{}, err)
			return false
		}
		if !p.yield(part(&row), nil) {
			return false
		}
	}
	return true
}

func (p *partReader) events() bool {
	from := p.want.From
	if p.want.Kind == world.PartAll {
		from = p.first()
	}
	return yieldAll(p, each(p.ctx, p.walk(p.archive.sql.events, p.archive.sql.eventsBack, from), p.scanEvent), func(e *world.Event) world.RunPart {
		return world.RunPart{Event: e}
	})
}

// first is the place of the first row in the order that is wanted.
func (p *partReader) first() int64 {
	if p.want.Backwards {
		return math.MaxInt64
	}
	return 0
}

func (p *partReader) steps() bool {
	return yieldAll(p, each(p.ctx, p.walk(p.archive.sql.steps, p.archive.sql.stepsBack, p.first()), p.scanStep), func(s *world.Step) world.RunPart {
		return world.RunPart{Step: s}
	})
}

func (p *partReader) hooks() bool {
	return yieldAll(p, each(p.ctx, p.walk(p.archive.sql.hooks, "", 0), p.scanHook), func(h *world.HookCopy) world.RunPart {
		return world.RunPart{Hook: h}
	})
}

func (p *partReader) streams(withChunks bool) bool {
	for s, err := range each(p.ctx, p.walk(p.archive.sql.streams, "", 0), scanStream) {
		if err != nil {
			p.yield(world.RunPart{}, err)
			return false
		}
		if !p.yield(world.RunPart{Stream: &s.StreamCopy}, nil) || withChunks && !p.chunks(s.number, 0) {
			return false
		}
	}
	return true
}

func (p *partReader) oneStream() {
	found, err := read(p.ctx, p.archive, scanStreamOnly, p.archive.sql.stream, p.archive.namespace, toText(p.runID), toText(p.want.Stream))
	if err != nil {
		p.yield(world.RunPart{}, err)
		return
	}
	if len(found) > 0 && p.yield(world.RunPart{Stream: &found[0].StreamCopy}, nil) {
		p.chunks(found[0].number, p.want.From)
	}
}

func (p *partReader) chunks(stream, from int64) bool {
	w := p.walk(p.archive.sql.chunks, "", from)
	w.resolveNone, w.args = false, []any{stream}
	return yieldAll(p, each(p.ctx, w, scanChunk), func(c *world.Chunk) world.RunPart { return world.RunPart{Chunk: c} })
}
