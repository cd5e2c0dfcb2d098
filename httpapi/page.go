package httpapi

import "github.com/world-redis/world-redis"

// encodePage writes {data, cursor, hasMore}. size is about how many bytes an entry takes.
func encodePage[T any](size func(*T) int, write func(*encoder, *T)) func(*encoder, world.Page[T]) {
	return func(e *encoder, page world.Page[T]) {
		e.grow(sizes(page.Data, size) + 128)
		o := e.object()
		encodeData(e, &o, page.Data, write)
		o.cursor(page.Cursor)
		o.flag("hasMore", page.HasMore)
		o.end()
	}
}

// encodeData writes the entries of a list as its field data.
func encodeData[T any](e *encoder, o *objectWriter, entries []T, write func(*encoder, *T)) {
	o.key("data")
	e.array(len(entries))
	for i := range entries {
		write(e, &entries[i])
	}
}

// encodeNothing writes {}.
func encodeNothing(e *encoder, _ nothing) { e.raw(world.Raw{majorMap << 5}) }

// sizes adds up what entities take, so that an answer is written into room made once.
func sizes[T any](entities []T, size func(*T) int) int {
	total := 0
	for i := range entities {
		total += size(&entities[i])
	}
	return total
}
