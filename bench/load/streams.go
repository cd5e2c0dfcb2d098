package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

const framesType = "application/vnd.world-redis.chunks"

// streamsLoad holds the settings of a measurement of streams.
type streamsLoad struct {
	url, second string // of the writing and the reading replica
	n, size     int    // number of chunks, and the size of each in bytes
	batch       int    // chunks per call
	streams     int    // written at the same time
	readers     int
	seconds     int
	perSecond   int // runs created in addition to the readers
}

func streamsCommand() *cobra.Command {
	var l streamsLoad
	measures := map[string]func(context.Context, streamsLoad) (any, error){"bulk": bulk, "apart": apart, "live": live, "readers": manyReaders}
	var measure string
	cmd := &cobra.Command{
		Use:   "streams",
		Short: "write and read streams through the HTTP API: bulk, apart, live or readers",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := measures[measure]
			if f == nil {
				return fmt.Errorf("there is no measurement %q", measure)
			}
			if l.second == "" {
				l.second = l.url
			}
			r, err := f(cmd.Context(), l)
			if err != nil {
				return err
			}
			return report(r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&measure, "measure", "bulk", "bulk: many chunks and one reader; apart: many chunks, read when all are written; live: one chunk at a time; readers: many of them, and runs")
	flags.StringVar(&l.url, "url", "", "address of the service that is written to")
	flags.StringVar(&l.second, "second", "", "address of the replica that is read from; the same if left out")
	flags.IntVar(&l.n, "n", 1000, "chunks")
	flags.IntVar(&l.size, "size", 100, "bytes of each")
	flags.IntVar(&l.batch, "batch", 16, "chunks a call")
	flags.IntVar(&l.streams, "streams", 1, "streams among which apart divides the chunks; each is written by a caller of its own, all at once")
	flags.IntVar(&l.readers, "readers", 2000, "live readers")
	flags.IntVar(&l.seconds, "seconds", 10, "for how long runs are created")
	flags.IntVar(&l.perSecond, "runs", 50, "runs created a second")
	return cmd
}

// bulkResult is the result of writing chunks as fast as possible while they are read.
type bulkResult struct {
	PerSecond        float64 `json:"perSecond"` // chunks, until all are read
	Megabytes        float64 `json:"megabytes"` // per second, until all are read
	WrittenMegabytes float64 `json:"writtenMegabytes"`
	First            float64 `json:"first"` // milliseconds from the first call to its chunk
}

// open starts a stream: a reader at one replica, and a connection to the other for the calls that write to path.
func (l streamsLoad) open(ctx context.Context, prefix string) (path string, reader *streamReader, writer *conn, err error) {
	name := prefix + newRunID()
	if reader, err = openStream(ctx, l.second, name); err != nil {
		return "", nil, nil, err
	}
	if writer, err = dial(ctx, l.url); err != nil {
		reader.close()
		return "", nil, nil, err
	}
	return "/v1/runs/" + newRunID() + "/streams/" + name, reader, writer, nil
}

func bulk(ctx context.Context, l streamsLoad) (any, error) {
	path, reader, writer, err := l.open(ctx, "bulk_")
	if err != nil {
		return nil, err
	}
	defer reader.close()
	first, read := make(chan time.Time, 1), make(chan error, 1)
	go func() {
		read <- reader.expect(l.n, l.size, func(i int) {
			if i == 0 {
				first <- time.Now()
			}
		})
	}()
	began := time.Now()
	if err := l.write(writer, path); err != nil {
		return nil, err
	}
	written := time.Since(began)
	if err := <-read; err != nil {
		return nil, err
	}
	took, bytes := time.Since(began), float64(l.n*l.size)/1e6
	return bulkResult{
		PerSecond: float64(l.n) / took.Seconds(), Megabytes: bytes / took.Seconds(), WrittenMegabytes: bytes / written.Seconds(),
		First: milliseconds((<-first).Sub(began)),
	}, nil
}

func (l streamsLoad) write(writer *conn, path string) error {
	body := frames(l.batch, l.size)
	for sent := 0; sent < l.n; sent += l.batch {
		if l.n-sent < l.batch {
			body = frames(l.n-sent, l.size)
		}
		if err := writer.send(path, framesType, body); err != nil {
			return err
		}
	}
	return nil
}

// apartResult is the result of reading chunks after all of them were written.
type apartResult struct {
	WrittenMegabytes float64 `json:"writtenMegabytes"` // per second, of all streams together
	ReadMegabytes    float64 `json:"readMegabytes"`    // per second
}

func apart(ctx context.Context, l streamsLoad) (any, error) {
	if l.streams < 1 || l.n < l.streams {
		return nil, fmt.Errorf("%d chunks do not go into %d streams", l.n, l.streams)
	}
	l.n /= l.streams
	names := make([]string, l.streams)
	for i := range names {
		names[i] = "apart_" + newRunID()
	}
	began := time.Now()
	if err := each(names, func(name string) error { return l.writeAll(ctx, name) }); err != nil {
		return nil, err
	}
	written := time.Now()
	if err := each(names, func(name string) error { return l.readAll(ctx, name) }); err != nil {
		return nil, err
	}
	read, bytes := time.Since(written), float64(l.n*l.size*l.streams)/1e6
	return apartResult{WrittenMegabytes: bytes / written.Sub(began).Seconds(), ReadMegabytes: bytes / read.Seconds()}, nil
}

// each runs do for all streams concurrently.
func each(names []string, do func(name string) error) error {
	var all errgroup.Group
	for _, name := range names {
		all.Go(func() error { return do(name) })
	}
	return all.Wait()
}

func (l streamsLoad) writeAll(ctx context.Context, name string) error {
	writer, err := dial(ctx, l.url)
	if err != nil {
		return err
	}
	return l.write(writer, "/v1/runs/"+newRunID()+"/streams/"+name)
}

func (l streamsLoad) readAll(ctx context.Context, name string) error {
	reader, err := openStream(ctx, l.second, name)
	if err != nil {
		return err
	}
	defer reader.close()
	return reader.expect(l.n, l.size, func(int) {})
}

// liveResult is the result of writing one chunk at a time, in milliseconds.
type liveResult struct {
	FromReturn percentiles `json:"fromReturn"` // from the end of the write; negative if the reader was first
	FromCall   percentiles `json:"fromCall"`
}

func live(ctx context.Context, l streamsLoad) (any, error) {
	path, reader, writer, err := l.open(ctx, "live_")
	if err != nil {
		return nil, err
	}
	defer reader.close()
	arrived, read := make(chan time.Time, 1), make(chan error, 1)
	const warm = 10
	go func() {
		// Only a failure is reported: the end may arrive before the last chunk, which is in the other channel.
		if err := reader.expect(l.n+warm, l.size, func(int) { arrived <- time.Now() }); err != nil {
			read <- err
		}
	}()
	body := frames(1, l.size)
	var fromReturn, fromCall []time.Duration
	for i := range l.n + warm {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		began := time.Now()
		if err := writer.send(path, framesType, body); err != nil {
			return nil, err
		}
		returned := time.Now()
		select {
		case at := <-arrived:
			if i >= warm {
				fromReturn, fromCall = append(fromReturn, at.Sub(returned)), append(fromCall, at.Sub(began))
			}
		case err := <-read:
			return nil, fmt.Errorf("the reader ended early: %w", err)
		}
	}
	return liveResult{FromReturn: percentilesOf(fromReturn), FromCall: percentilesOf(fromCall)}, nil
}

// frames returns count chunks of a size as the body of a call.
func frames(count, size int) []byte {
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(size)), make([]byte, size)...) //nolint:gosec // a chunk's size
	for i := range size {
		frame[4+i] = byte(i*31 + 7)
	}
	body := make([]byte, 0, count*len(frame))
	for range count {
		body = append(body, frame...)
	}
	return body
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
