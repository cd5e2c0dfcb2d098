package httpapi

import (
	"context"
	"testing"

	"github.com/world-redis/world-redis"
)

// fakeLegacy is the part of fakeStore for SDKs from before event sourcing.
type fakeLegacy struct {
	t           *testing.T
	createRun   func(world.CreateLegacyRun) (world.Run, error)
	updateRun   func(world.UpdateLegacyRun) (world.Run, error)
	createStep  func(world.CreateLegacyStep) (world.Step, error)
	updateStep  func(world.UpdateLegacyStep) (world.Step, error)
	appendEvent func(world.CreateLegacyEvent) (world.Event, error)
	createHook  func(world.CreateLegacyHook) (world.Hook, error)
	disposeHook func(world.DisposeLegacyHook) (world.Hook, error)
}

// called calls the function that a test has set, or fails the test.
func called[Req, Res any](t *testing.T, name string, put func(Req) (Res, error), req Req) (Res, error) {
	if put == nil {
		var none Res
		return none, unexpected(t, name)
	}
	return put(req)
}

func (f *fakeLegacy) CreateLegacyRun(_ context.Context, req world.CreateLegacyRun) (world.Run, error) {
	return called(f.t, "CreateLegacyRun", f.createRun, req)
}

func (f *fakeLegacy) UpdateLegacyRun(_ context.Context, req world.UpdateLegacyRun) (world.Run, error) {
	return called(f.t, "UpdateLegacyRun", f.updateRun, req)
}

func (f *fakeLegacy) CreateLegacyStep(_ context.Context, req world.CreateLegacyStep) (world.Step, error) {
	return called(f.t, "CreateLegacyStep", f.createStep, req)
}

func (f *fakeLegacy) UpdateLegacyStep(_ context.Context, req world.UpdateLegacyStep) (world.Step, error) {
	return called(f.t, "UpdateLegacyStep", f.updateStep, req)
}

func (f *fakeLegacy) CreateLegacyEvent(_ context.Context, req world.CreateLegacyEvent) (world.Event, error) {
	return called(f.t, "CreateLegacyEvent", f.appendEvent, req)
}

func (f *fakeLegacy) CreateLegacyHook(_ context.Context, req world.CreateLegacyHook) (world.Hook, error) {
	return called(f.t, "CreateLegacyHook", f.createHook, req)
}

func (f *fakeLegacy) DisposeLegacyHook(_ context.Context, req world.DisposeLegacyHook) (world.Hook, error) {
	return called(f.t, "DisposeLegacyHook", f.disposeHook, req)
}
