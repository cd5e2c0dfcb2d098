package apps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/queue/internal/script"
)

// jsonFor is how long an app that refused CBOR gets JSON. Then one message is sent in CBOR again, since an app can be
// replaced by one that accepts it, under the same registration.
const jsonFor = world.Millis(24 * time.Hour / time.Millisecond)

// WantsJSON reports whether an app has refused CBOR lately.
func (r *Registry) WantsJSON(a world.App) bool {
	return a.RefusedCBOR != 0 && r.now()-a.RefusedCBOR < jsonFor
}

// RefusesCBOR records at the registration of an app that it refused CBOR and accepted JSON. It holds for all replicas,
// until the app registers as something new, or jsonFor is over. It returns true if that was not known.
func (r *Registry) RefusesCBOR(ctx context.Context, a world.App) (isNew bool, err error) {
	if r.WantsJSON(a) {
		return false, nil
	}
	if a.AliveUntil == 0 { // the configured address has no registration
		return r.noteAtBaseURL(), nil
	}
	field := fieldOf(a)
	before, err := r.cfg.Redis.HGet(ctx, r.cfg.Key, field).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read app: %w", err)
	}
	known, err := decode(field, before)
	if err != nil || r.WantsJSON(known) {
		return false, err
	}
	known.RefusedCBOR = r.now()
	after, err := encode(known)
	if err != nil {
		return false, err
	}
	reply, err := r.cfg.Replace.Run(ctx, r.cfg.Redis, []string{r.cfg.Key}, field, before, after)
	if err != nil {
		return false, fmt.Errorf("write app: %w", err)
	}
	code, err := script.Code(reply)
	r.invalidate()
	return code == 1, err // 0: it has registered meanwhile, and the next delivery finds out
}

func (r *Registry) noteAtBaseURL() (isNew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	isNew = now-r.atBaseURL >= jsonFor
	r.atBaseURL = now
	return isNew
}

func (r *Registry) baseURLRefusedCBOR() world.Millis {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.atBaseURL
}
