package input

import (
	"math"
	"net/http"
	"strconv"

	"github.com/world-redis/world-redis"
)

// HopsOf returns how many services a request has come through. A value that is no number counts as too many, because
// something in a loop has changed it.
func HopsOf(header http.Header) int {
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
