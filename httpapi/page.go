package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// answerPage sends {data, cursor, hasMore}. size is about what the entries take together.
func answerPage[T any](s *Server, c echo.Context, page world.Page[T], size int, write func(*encoder, *T)) error {
	e := newEncoder(size + 128)
	o := e.object()
	o.key("data")
	e.array(len(page.Data))
	for i := range page.Data {
		write(e, &page.Data[i])
	}
	o.cursor(page.Cursor)
	o.flag("hasMore", page.HasMore)
	o.end()
	return s.answer(c, http.StatusOK, e.bytes)
}

// answerOne sends one entity.
func answerOne[T any](s *Server, c echo.Context, entity *T, size int, write func(*encoder, *T)) error {
	e := borrowEncoder()
	defer e.release()
	e.grow(size + 128)
	write(e, entity)
	return s.answer(c, http.StatusOK, e.bytes)
}

// emptyAnswer is {}.
func (s *Server) emptyAnswer(c echo.Context) error {
	return s.answer(c, http.StatusOK, []byte{majorMap << 5})
}

// sizes adds up what entities take, so that an answer is written into room made once.
func sizes[T any](entities []T, size func(*T) int) int {
	total := 0
	for i := range entities {
		total += size(&entities[i])
	}
	return total
}
