package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// AppNote returns what any replica has noted about an app; nil if nothing, or if its time is over.
func (q *Queue) AppNote(ctx context.Context, about string) ([]byte, error) {
	note, err := q.redis.Get(ctx, q.noteKey(about)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a note about an app: %w", err)
	}
	return note, nil
}

// SetAppNote keeps a note about an app, such as what answers at its address, for all replicas.
func (q *Queue) SetAppNote(ctx context.Context, about string, note []byte, keep time.Duration) error {
	if err := q.redis.Set(ctx, q.noteKey(about), note, keep).Err(); err != nil {
		return fmt.Errorf("write a note about an app: %w", err)
	}
	return nil
}

// noteKey has a fixed length, since an address and a deployment may be long.
func (q *Queue) noteKey(about string) string {
	sum := sha256.Sum256([]byte(about))
	return q.cfg.KeyPrefix + "app_note:" + hex.EncodeToString(sum[:16])
}
