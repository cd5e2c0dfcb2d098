package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	framesType     = "application/vnd.world-redis.chunks"
	frameEnd       = 0xFFFFFFFF
	frameKeepAlive = 0xFFFFFFFE
)

var errCut = errors.New("the body ended without the end frame")

// follower reads a stream live and records when each chunk arrived. If resumes are allowed, it continues at the next
// index after a cut, as the client does; otherwise a cut is its end.
type follower struct {
	resumes int

	mu     sync.Mutex
	chunks []string
	at     []time.Time
	beats  int // keep-alive frames
	cuts   int
	ended  chan error
}

// follow starts a follower of base's stream; it ends with the test.
func follow(t *testing.T, base, name string, resumes int) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{resumes: resumes, ended: make(chan error, 1)}
	var running sync.WaitGroup
	running.Go(func() { f.ended <- f.run(ctx, base+"/v1/streams/"+name) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return f
}

func (f *follower) run(ctx context.Context, url string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		err := f.read(ctx, client, fmt.Sprintf("%s?startIndex=%d", url, f.count()))
		if err == nil || ctx.Err() != nil {
			return err
		}
		f.mu.Lock()
		f.cuts++
		cuts := f.cuts
		f.mu.Unlock()
		if cuts > f.resumes {
			return err
		}
		<-time.After(20 * time.Millisecond) // what a client does before it tries again
	}
}

func (f *follower) read(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", framesType)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end or given up
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, res.Status)
	}
	body := bufio.NewReader(res.Body)
	for {
		var head [4]byte
		if _, err := io.ReadFull(body, head[:]); errors.Is(err, io.EOF) {
			return errCut
		} else if err != nil {
			return err
		}
		switch n := binary.BigEndian.Uint32(head[:]); n {
		case frameEnd:
			return nil
		case frameKeepAlive:
			f.mu.Lock()
			f.beats++
			f.mu.Unlock()
		default:
			chunk := make([]byte, n)
			if _, err := io.ReadFull(body, chunk); err != nil {
				return err
			}
			f.mu.Lock()
			f.chunks, f.at = append(f.chunks, string(chunk)), append(f.at, time.Now())
			f.mu.Unlock()
		}
	}
}

func (f *follower) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.chunks)
}

// has waits until there are n chunks.
func (f *follower) has(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return f.count() >= n }, time.Minute, 2*time.Millisecond)
}

// all waits for the end and returns the chunks.
func (f *follower) all(t *testing.T) []string {
	t.Helper()
	select {
	case err := <-f.ended:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "the read does not end")
	}
	return f.chunks
}

// numbers are the texts of 0 to n-1.
func numbers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return list
}
