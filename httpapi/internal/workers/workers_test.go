package workers

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The goroutines of a pool make every call that they get, also one that comes while the pool closes, and they end with
// it; TestMain checks that none is left.
func TestAPoolThatCloses(t *testing.T) {
	t.Parallel()
	for range 50 {
		p := &Pool{}
		var done, callers sync.WaitGroup
		var mu sync.Mutex
		made := map[int]int{}
		for caller := range 4 {
			callers.Go(func() {
				for i := range 40 {
					done.Add(1)
					p.Start(Task{Make: func(i int) {
						mu.Lock()
						defer mu.Unlock()
						made[i]++
					}, I: caller*40 + i, Done: &done})
				}
			})
		}
		callers.Go(p.Close)
		callers.Wait()
		done.Wait()
		require.Len(t, made, 160)
		for i, n := range made {
			require.Equal(t, 1, n, i)
		}
	}
}
