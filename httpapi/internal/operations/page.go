package operations

import (
	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/internal/cboritem"
	"github.com/world-redis/world-redis/internal/wire"
)

// encodePage writes {data, cursor, hasMore}. size estimates the bytes of an entry.
func encodePage[T any](size func(*T) int, write func(*wire.Encoder, *T)) func(*wire.Encoder, world.Page[T]) {
	return func(e *wire.Encoder, page world.Page[T]) {
		e.Grow(wire.Sizes(page.Data, size) + 128)
		o := e.Object()
		encodeData(e, &o, page.Data, write)
		o.Cursor(page.Cursor)
		o.Flag("hasMore", page.HasMore)
		o.End()
	}
}

// encodeData writes the entries of a list as its field data.
func encodeData[T any](e *wire.Encoder, o *wire.Object, entries []T, write func(*wire.Encoder, *T)) {
	o.Key("data")
	e.Array(len(entries))
	for i := range entries {
		write(e, &entries[i])
	}
}

// encodeNothing writes {}.
func encodeNothing(e *wire.Encoder, _ nothing) { e.Raw(world.Raw{cboritem.EmptyMap}) }
