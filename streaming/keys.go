package streaming

import (
	"fmt"
	"time"

	"github.com/world-redis/world-redis/internal/rediskey"
)

// requestWindow is the least time for which a request id is remembered: a record is found
// from its own bucket and the two beside it, each this long.
const requestWindow = 10 * time.Minute

// requestTTL lets a bucket live while it fills and while the next one does, and a window
// longer for clocks that disagree.
const requestTTL = 3 * requestWindow

// streamKeys are the names that share one stream's hash tag.
type streamKeys struct {
	name                  string
	stream, meta, channel string
	second                string // name of the stream inside of a transaction, see appendDirect
	arriving              string // when an append was last seen to be on its way, see arrivals
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

// requestKeys are the request buckets of a stream: of now, before and after.
func (s *Service) requestKeys(name string, now time.Time) [3]string {
	bucket := now.Unix() / int64(requestWindow/time.Second)
	key := func(n int64) string {
		return fmt.Sprintf("%sstream_req:{%s}:%d", s.prefix, rediskey.Part(name), n)
	}
	return [3]string{key(bucket), key(bucket - 1), key(bucket + 1)}
}

// emptiesKey says that a run may keep nothing once it has ended.
func (s *Service) emptiesKey(runID string) string {
	return s.prefix + "streams:empties:{" + rediskey.Part(runID) + "}"
}

// runKey is the list of a run's streams.
func (s *Service) runKey(runID string) string {
	return s.prefix + "streams:by_run:{" + rediskey.Part(runID) + "}"
}
