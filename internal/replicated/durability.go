package replicated

import (
	"fmt"
	"strconv"
	"strings"
)

// Most is the largest number of replicas in a [Durability].
const Most = 16

// Durability is how many replicas confirm a write before it is acknowledged; 0 means the master alone.
type Durability int

// UnmarshalText reads local, replicas or replicas:n. Without a number, replicas means one; n is never 0.
func (d *Durability) UnmarshalText(text []byte) error {
	word, number, numbered := strings.Cut(string(text), ":")
	switch {
	case word == "local" && !numbered:
		*d = 0
		return nil
	case word == "replicas" && !numbered:
		*d = 1
		return nil
	case word == "replicas":
		n, err := strconv.Atoi(number)
		if err == nil && n >= 1 && n <= Most && number == strconv.Itoa(n) {
			*d = Durability(n)
			return nil
		}
	}
	return fmt.Errorf("%q: use local, replicas or replicas:n with n from 1 to %d", text, Most)
}
