package httpapi

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/world-redis/world-redis"
)

type removerFunc func(runID string) error

func (f removerFunc) RemoveRun(_ context.Context, runID string) error { return f(runID) }

func TestARunIsRemovedOnRequest(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFakes(t), func(_ *Config, d *Deps) {
		d.Remover = removerFunc(func(runID string) error {
			if runID != "wrun_1" {
				return world.Errorf(world.CodeConflict, "it goes on")
			}
			return nil
		})
	})
	w := call{method: http.MethodDelete, target: "/v1/runs/wrun_1", header: map[string]string{"Accept": "application/json"}}.do(t, s)
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, `{}`, w.Body.String())
	require.Equal(t, http.StatusConflict, call{method: http.MethodDelete, target: "/v1/runs/wrun_2"}.do(t, s).Code)
	require.Equal(t, http.StatusNotFound, call{method: http.MethodDelete, target: "/v1/runs/wrun_1"}.do(t, newServer(t, newFakes(t))).Code)
}
