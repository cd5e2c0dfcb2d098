package recovery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// neverChange stands for masters that have no replication ids, or whose ids Redis does not tell.
const neverChange = "-"

// Masters returns the replication id of each Redis master, which changes with a new master and with a restart. nil
// means that the masters never change.
type Masters func(ctx context.Context) ([]string, error)

// text returns a short text that changes with the masters, or an error while they are not known.
func (m Masters) text(ctx context.Context) (string, error) {
	if m == nil {
		return neverChange, nil
	}
	list, err := m(ctx)
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		return neverChange, nil // the user may not ask, so waiting for an answer is no use
	case err != nil:
		return "", err
	case len(list) == 0:
		return neverChange, nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	sum := sha256.Sum256([]byte(strings.Join(list, " ")))
	return hex.EncodeToString(sum[:8]), nil
}

// mastersSince says since when the masters are the same.
type mastersSince struct {
	text string
	at   time.Time
}

// look compares the masters with those of the last look. at is then a time since which they have not changed.
func (s *mastersSince) look(ctx context.Context, masters Masters, now time.Time) error {
	text, err := masters.text(ctx)
	if err != nil {
		return err
	}
	if text != s.text {
		*s = mastersSince{text, now}
	}
	return nil
}
