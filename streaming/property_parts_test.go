package streaming_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/world-redis/world-redis"
)

const callsOfAWriter = 40

// texts returns the chunks of a writer from a number on: each begins with a text of its own. Some are long, and in a
// long trial sometimes all are, so that they are stored without the script.
func texts(random *rand.Rand, writer string, from, count int) [][]byte {
	list := make([][]byte, count)
	large := *propertyRounds > 4 && count > 6 && random.IntN(20) == 0
	for i := range list {
		list[i] = fmt.Appendf(nil, "%s/%d ", writer, from+i)
		if large {
			list[i] = append(list[i], bytes.Repeat([]byte{0xff}, 40_000)...)
		} else if random.IntN(20) == 0 {
			list[i] = append(list[i], bytes.Repeat([]byte{0xff}, random.IntN(20_000))...)
		}
	}
	return list
}

// accepted records what a writer was answered: its chunks are stored, from index first on if that is known.
func (r *round) accepted(chunks [][]byte, first int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, chunk := range chunks {
		text, _, _ := bytes.Cut(chunk, []byte(" "))
		r.written[string(text)]++
		if first >= 0 {
			r.answered[first+int64(i)] = string(text)
		}
	}
}

// stopped says that the writer has reached the end of the stream; another refusal fails the test.
func (r *round) stopped(err error) bool {
	if err != nil && world.ErrorCode(err) != world.CodeStreamClosed {
		r.t.Errorf("append: %v", err)
	}
	return err != nil
}

// writeByRequest sends some calls twice or three times, to any replica, as after a lost answer.
func (r *round) writeByRequest(random *rand.Rand, writer string) {
	next := 0
	for call := range callsOfAWriter {
		a := world.Append{Name: "st", RunID: "wrun_1", RequestID: fmt.Sprint(writer, " ", call), Chunks: texts(random, writer, next, 1+random.IntN(12))}
		for again := range 1 + random.IntN(3) {
			first, err := r.replica(random).AppendChunks(r.ctx, a)
			if r.stopped(err) {
				if again > 0 {
					r.t.Errorf("the repeat of a stored call was refused: %v", err)
				}
				return
			}
			r.accepted(a.Chunks, first)
		}
		next += len(a.Chunks)
		pause(r.ctx, random, 20*time.Millisecond)
	}
}

// writeByNumber numbers its chunks and sometimes sends the last ones again.
func (r *round) writeByNumber(random *rand.Rand, writer string) {
	var kept [][]byte
	stored := 0
	for range callsOfAWriter {
		kept = append(kept, texts(random, writer, len(kept), 1+random.IntN(12))...)
		from := stored - random.IntN(min(stored, 20)+1)
		a := world.Append{Name: "st", RunID: "wrun_1", WriterID: writer, Sequence: int64(from), Chunks: kept[from:]}
		first, err := r.replica(random).AppendChunks(r.ctx, a)
		if r.stopped(err) {
			return
		}
		if from < stored {
			first = -1 // the place of the first that is new, or of the first at all
		}
		r.accepted(a.Chunks, first)
		stored = len(kept)
		pause(r.ctx, random, 20*time.Millisecond)
	}
}

var errGone = errors.New("the reader goes away")

// read starts at some time and reads to the end, at its own pace. Sometimes it disconnects and continues, possibly at
// the other replica, with the chunks that it lacks.
func (r *round) read(random *rand.Rand) {
	pause(r.ctx, random, time.Second)
	one := result{start: random.Int64N(1200) - 300}
	one.least = r.from(one.start)
	next, slow := one.start, random.IntN(4) == 0
	for {
		err := r.replica(random).ReadStream(r.ctx, "st", next, func(chunks []world.Chunk) error {
			if len(one.got) == 0 {
				one.most = r.from(one.start)
			}
			one.got = append(one.got, kept(chunks)...)
			next = chunks[len(chunks)-1].Index + 1
			if slow {
				pause(r.ctx, random, 50*time.Millisecond)
			}
			if random.IntN(8) == 0 {
				return errGone
			}
			return nil
		})
		if err == nil {
			break
		}
		if !errors.Is(err, errGone) {
			r.t.Errorf("read: %v", err)
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, one)
}

// from is the current meaning of a start index.
func (r *round) from(start int64) int64 {
	if start >= 0 {
		return start
	}
	info, err := r.replicas[0].StreamInfo(context.WithoutCancel(r.ctx), "st", 0)
	if err != nil {
		r.t.Errorf("info: %v", err)
	}
	return max(0, info.TailIndex+1+start)
}
