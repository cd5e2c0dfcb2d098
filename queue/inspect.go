package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/rediskey"
)

const (
	messagesDefault = 50
	messagesMost    = 200
	// messagesLooked bounds the messages that one page reads to find matching ones.
	messagesLooked = 2000
	// messagesBytes bounds the size of the messages that one page reads. A larger message is read alone.
	messagesBytes = 8 << 20
	infosAtOnce   = 100
)

// shelf is one of the lists or sorted sets that hold messages.
type shelf struct {
	w     *worker
	state world.MessageState
	key   string
	order shelfOrder
}

type shelfOrder int

const (
	asList      shelfOrder = iota // a list; the last enqueued first
	lowestFirst                   // by score
	highestFirst
)

func (q *Queue) shelves() []shelf {
	var all []shelf
	for _, w := range q.workers() {
		k := &w.Keys
		all = append(all,
			shelf{w, world.MessageActive, k.Active, asList}, shelf{w, world.MessagePending, k.Pending, asList},
			shelf{w, world.MessageRetry, k.Retry, lowestFirst}, shelf{w, world.MessageScheduled, k.Scheduled, lowestFirst},
			shelf{w, world.MessageDead, k.Archived, highestFirst}, shelf{w, world.MessageCompleted, k.Completed, highestFirst})
	}
	return all
}

// holds reports whether a shelf may have messages of a state; empty is any.
func (s shelf) holds(kind world.Kind, state world.MessageState) bool {
	switch state {
	case world.MessageParked:
		state = world.MessageScheduled
	case world.MessageWaitingForApp:
		state = world.MessageRetry
	}
	return (kind == "" || kind == s.w.Kind) && (state == "" || state == s.state)
}

// read returns the next n ids from a position on, and the position after them. A position in a
// list is the number of ids to skip; in a set it is a score, and the number of ids with that score to skip.
func (s shelf) read(ctx context.Context, pos string, n int) (found []string, next string, err error) {
	r := s.w.q.redis
	if s.order == asList {
		skip, _ := strconv.ParseInt(pos, 10, 64) // checked when the cursor was read
		found, err = r.LRange(ctx, s.key, skip, skip+int64(n)-1).Result()
		return found, strconv.FormatInt(skip+int64(len(found)), 10), err
	}
	bound, skipped, _ := strings.Cut(pos, "/")
	skip, _ := strconv.ParseInt(skipped, 10, 64)
	from, to := "-inf", "+inf"
	if s.order == highestFirst {
		from, to = to, from
	}
	if bound != "" {
		from = bound
	}
	by := redis.ZRangeArgs{Key: s.key, ByScore: true, Start: from, Stop: to, Offset: skip, Count: int64(n), Rev: s.order == highestFirst}
	rows, err := r.ZRangeArgsWithScores(ctx, by).Result()
	next = pos
	for _, row := range rows {
		id, _ := row.Member.(string)
		found = append(found, id)
		if at := strconv.FormatFloat(row.Score, 'f', -1, 64); at == bound {
			skip++
		} else {
			bound, skip = at, 1
		}
		next = bound + "/" + strconv.FormatInt(skip, 10)
	}
	return found, next, err
}

// ListMessages implements world.QueueAdmin.
func (q *Queue) ListMessages(ctx context.Context, want world.MessageQuery) (world.Page[world.MessageInfo], error) {
	page := world.Page[world.MessageInfo]{}
	at, pos, err := openMessageCursor(want.Page.Cursor)
	if err != nil {
		return page, err
	}
	limit := want.Page.Limit
	if limit <= 0 {
		limit = messagesDefault
	}
	limit = min(limit, messagesMost)
	shelves := q.shelves()
	for looked, bytes := 0, 0; at < len(shelves); {
		s := shelves[at]
		if !s.holds(want.Kind, want.State) {
			at, pos = at+1, ""
			continue
		}
		if len(page.Data) >= limit || looked >= messagesLooked || bytes >= messagesBytes {
			page.Cursor, page.HasMore = messageCursor(at, pos), true
			return page, nil
		}
		n := min(limit-len(page.Data), infosAtOnce)
		found, next, err := s.read(ctx, pos, n)
		if err != nil {
			return page, unreadable(fmt.Errorf("list messages: %w", err))
		}
		heads, err := s.w.infoHeads(ctx, found)
		if err != nil {
			return page, err
		}
		fit, size := fitting(heads, messagesBytes-bytes, bytes == 0)
		full := fit < len(heads)
		if bytes += size; full {
			bytes = messagesBytes
			// The position behind these, approximately if messages come and go meanwhile.
			if next, err = s.pass(ctx, pos, fit); err != nil {
				return page, err
			}
		}
		infos, err := s.w.infos(ctx, heads[:fit])
		if err != nil {
			return page, err
		}
		for _, info := range infos {
			if (want.State == "" || info.State == want.State) && (want.RunID == "" || info.RunID == want.RunID) {
				page.Data = append(page.Data, info)
			}
		}
		looked += fit
		if pos = next; len(found) < n && !full {
			at, pos = at+1, ""
		}
	}
	return page, nil
}

// pass returns the position after n more ids.
func (s shelf) pass(ctx context.Context, pos string, n int) (next string, err error) {
	if n == 0 {
		return pos, nil
	}
	if _, next, err = s.read(ctx, pos, n); err != nil {
		return "", unreadable(fmt.Errorf("list messages: %w", err))
	}
	return next, nil
}

// fitting returns how many of the messages fit into room bytes, and their size. With first, the first message fits in any case.
func fitting(heads []infoHead, room int, first bool) (n, size int) {
	for _, h := range heads {
		one := int(h.size.Val())
		if size+one > room && (n > 0 || !first) {
			break
		}
		n, size = n+1, size+one
	}
	return n, size
}

func messageCursor(shelf int, pos string) string { return strconv.Itoa(shelf) + "_" + pos }

func openMessageCursor(cursor string) (shelf int, pos string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	number, pos, found := strings.Cut(cursor, "_")
	shelf, err = strconv.Atoi(number)
	score, skip, isSet := strings.Cut(pos, "/")
	if !isSet {
		score, skip = "0", score
	}
	_, errScore := strconv.ParseFloat(score, 64)
	n, errSkip := strconv.ParseInt(skip, 10, 32)
	if pos == "" {
		errScore, errSkip = nil, nil
	}
	if !found || err != nil || shelf < 0 || errScore != nil || errSkip != nil || n < 0 {
		return 0, "", world.Errorf(world.CodeInvalid, "The cursor is not one of this list")
	}
	return shelf, pos, nil
}

// GetMessage implements world.QueueAdmin.
func (q *Queue) GetMessage(ctx context.Context, messageID string) (world.MessageInfo, error) {
	for _, w := range q.workers() {
		infos, err := w.infosOf(ctx, []string{messageID})
		if err != nil {
			return world.MessageInfo{}, err
		}
		if len(infos) == 1 {
			return infos[0], nil
		}
	}
	return world.MessageInfo{}, messageNotFound(messageID)
}

func messageNotFound(messageID string) error {
	return world.Errorf(world.CodeNotFound, "Message %q is not in the queue: it is done and forgotten, or never was", messageID)
}

// RunMessages implements world.QueueAdmin.
func (q *Queue) RunMessages(ctx context.Context, runID string) ([]world.MessageInfo, error) {
	var all []world.MessageInfo
	for _, w := range q.workers() {
		for cursor, more := uint64(0), true; more && len(all) < world.MaxRunMessages; more = cursor != 0 {
			var found []string
			var err error
			found, cursor, err = q.redis.SScan(ctx, w.Keys.OfRun+rediskey.Part(runID), cursor, "", infosAtOnce).Result()
			if err != nil {
				return nil, unreadable(fmt.Errorf("messages of a run: %w", err))
			}
			for len(found) > 0 {
				n := min(len(found), infosAtOnce)
				infos, err := w.infosOf(ctx, found[:n])
				if err != nil {
					return nil, err
				}
				all, found = append(all, infos...), found[n:]
			}
		}
	}
	return all[:min(len(all), world.MaxRunMessages)], nil
}
