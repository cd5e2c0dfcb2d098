package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
)

// streamReader is one live read on its own connection.
type streamReader struct {
	conn net.Conn
	body io.Reader
}

func openStream(ctx context.Context, address, name string) (*streamReader, error) {
	c, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c.net, "GET /v1/streams/%s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n\r\n", name, c.host, framesType); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(c.net, 64<<10)
	answer, err := http.ReadResponse(in, nil) //nolint:bodyclose // close closes its connection
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the read of %s was answered %s", name, answer.Status)
	}
	return &streamReader{conn: c.net, body: answer.Body}, nil
}

func (r *streamReader) close() { _ = r.conn.Close() }

// expect reads count chunks of one size, and calls got for each.
func (r *streamReader) expect(count, size int, got func(i int)) error {
	in := bufio.NewReaderSize(r.body, 64<<10)
	for i := 0; i < count; {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		switch n := binary.BigEndian.Uint32(head[:]); n {
		case 0xFFFFFFFE: // keep-alive
		case uint32(size): //nolint:gosec // a chunk's size
			if _, err := in.Discard(size); err != nil {
				return err
			}
			got(i)
			i++
		default:
			return fmt.Errorf("chunk %d has the length %d", i, n)
		}
	}
	return nil
}

// percentiles are in milliseconds.
type percentiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

func percentilesOf(all []time.Duration) percentiles {
	slices.Sort(all)
	at := func(q float64) float64 { return milliseconds(all[int(q*float64(len(all)-1))]) }
	return percentiles{P50: at(.5), P99: at(.99)}
}
