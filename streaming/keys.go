package streaming

import (
	"fmt"
	"time"

	"github.com/world-redis/world-redis/internal/rediskey"
)

// requestWindow is the least time for which a request id is remembered. A record is found through its own bucket and
// the two adjacent ones, each of this length.
const requestWindow = 10 * time.Minute

// requestTTL keeps a bucket while it and the next one fill up, and one window longer for clocks that differ.
const requestTTL = 3 * requestWindow

// streamKeys are the names that share one stream's hash tag.
type streamKeys struct {
	name                  string
	stream, meta, channel string
	second                string // name of the stream during a transaction, see appendDirect
	arriving              string // when an append was last seen in progress, see arrivals
}

func (s *Service) keys(name string) streamKeys {
	tag := "{" + rediskey.Part(name) + "}"
	return streamKeys{
		name:     name,
		stream:   s.prefix + "stream:" + tag,
		meta:     s.prefix + "stream_meta:" + tag,
		channel:  s.prefix + "stream_notify:" + tag,
		second:   s.prefix + "stream_open:" + tag,
		arriving: s.prefix + "stream_arriving:" + tag,
	}
}

// requestKeys returns a stream's request buckets: the current, the previous and the next one.
func (s *Service) requestKeys(name string, now time.Time) [3]string {
	bucket := now.Unix() / int64(requestWindow/time.Second)
	key := func(n int64) string {
		return fmt.Sprintf("%sstream_req:{%s}:%d", s.prefix, rediskey.Part(name), n)
	}
	return [3]string{key(bucket), key(bucket - 1), key(bucket + 1)}
}

// emptiesKey is set if a run may keep nothing once it has ended.
func (s *Service) emptiesKey(runID string) string {
	return s.prefix + "streams:empties:{" + rediskey.Part(runID) + "}"
}

// runKey is the list of a run's streams.
func (s *Service) runKey(runID string) string {
	return s.prefix + "streams:by_run:{" + rediskey.Part(runID) + "}"
}
