package redismemory

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
)

const (
	// sampleEvery is the time between two samples of a node, and sampleFor how long they are kept.
	sampleEvery = time.Hour
	sampleFor   = 7*24*time.Hour + sampleEvery
	// mostSamples bounds the entries: a week of 64 nodes.
	mostSamples = 64 * 169
)

// sample is the memory that a node used at a time.
type sample struct {
	at   world.Millis
	addr string
	used int64
}

// samplesKey is a zset: "<ms> <used_memory> <address>", score the ms; the address is empty if there is only one node.
func samplesKey(prefix string) string { return prefix + "memory:samples" }

// saidKey is a string that exists for a day after the growth was logged.
func saidKey(prefix string) string { return prefix + "memory:said" }

func (s sample) text() string {
	return strconv.FormatInt(int64(s.at), 10) + " " + strconv.FormatInt(s.used, 10) + " " + s.addr
}

func parseSample(text string) (s sample, ok bool) {
	at, rest, _ := strings.Cut(text, " ")
	used, addr, ok := strings.Cut(rest, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !ok {
		return s, false
	}
	s.at, s.addr = world.Millis(ms), addr
	s.used, err = strconv.ParseInt(used, 10, 64)
	return s, err == nil
}

// readSamples returns the samples, oldest first.
func readSamples(ctx context.Context, client redis.Cmdable, prefix string) ([]sample, error) {
	texts, err := client.ZRange(ctx, samplesKey(prefix), -mostSamples, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("read the samples of used memory: %w", err)
	}
	out := make([]sample, 0, len(texts))
	for _, text := range texts {
		if s, ok := parseSample(text); ok {
			out = append(out, s)
		}
	}
	return out, nil
}

// takeSample adds a sample of each node, unless the last is younger than an hour, and removes old ones.
func takeSample(ctx context.Context, client redis.Cmdable, prefix string, nodes []Node, now world.Millis) error {
	key := samplesKey(prefix)
	recent, err := client.ZCount(ctx, key, strconv.FormatInt(int64(now)-sampleEvery.Milliseconds()+1, 10), "+inf").Result()
	if err != nil || recent > 0 {
		return err
	}
	_, err = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, n := range nodes {
			if n.Used > 0 {
				s := sample{at: now, addr: n.Addr, used: n.Used}
				p.ZAdd(ctx, key, redis.Z{Score: float64(now), Member: s.text()})
			}
		}
		p.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(int64(now)-sampleFor.Milliseconds(), 10))
		p.ZRemRangeByRank(ctx, key, 0, -mostSamples-1)
		return nil
	})
	return err
}
