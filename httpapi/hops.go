package httpapi

import (
	"math"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/world-redis/world-redis"
)

// limitHops refuses what has come through too many services: they take each other for apps and pass it on in a circle.
func limitHops(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if hops := hopsOf(c.Request().Header); hops > world.MaxHops {
			return world.Errorf(world.CodeLoopDetected,
				"this request came through more than %d world-redis services: one of them has another one as its app; correct its WORKFLOW_BASE_URL, or what registers there", world.MaxHops)
		}
		return next(c)
	}
}

// hopsOf is how many services a request has come through. What is no number counts as too many: somebody in a circle
// changed it.
func hopsOf(header http.Header) int {
	hops := 0
	for _, value := range header[world.HeaderHops] {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return math.MaxInt32
		}
		hops = max(hops, n)
	}
	return hops
}
