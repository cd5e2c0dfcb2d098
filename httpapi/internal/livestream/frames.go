package livestream

import (
	"encoding/binary"

	"github.com/world-redis/world-redis/httpapi/internal/refuse"
)

// A frame is a chunk with its length: [u32 big-endian length][bytes]. Two lengths that no chunk
// can have are signals in a live read.
const (
	// The media types of chunks: one chunk, or frames of any number.
	TypeChunk  = "application/octet-stream"
	TypeFrames = "application/vnd.world-redis.chunks"

	// HeaderStart is the index of the first chunk of an answer.
	HeaderStart = "X-Stream-Start"

	frameHead      = 4
	frameEnd       = 0xFFFFFFFF // the recorded end of the stream; a body without it was cut off
	frameKeepAlive = 0xFFFFFFFE // nothing was written; proxies cut silent connections
)

// SplitFrames splits a body into chunks, which are slices of it.
func SplitFrames(body []byte) ([][]byte, error) {
	var chunks [][]byte
	for rest := body; len(rest) > 0; {
		if len(rest) < frameHead {
			return nil, refuse.Invalid("frame %d ends within its length", len(chunks))
		}
		n := uint64(binary.BigEndian.Uint32(rest))
		rest = rest[frameHead:]
		if n > uint64(len(rest)) {
			return nil, refuse.Invalid("frame %d says %d bytes, %d follow", len(chunks), n, len(rest))
		}
		chunks = append(chunks, rest[:n:n])
		rest = rest[n:]
	}
	if len(chunks) == 0 {
		return nil, refuse.Invalid("the body has no frames")
	}
	return chunks, nil
}

func frameLength(n uint32) []byte { return appendFrameLength(nil, n) }

func appendFrameLength(to []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(to, n) }
