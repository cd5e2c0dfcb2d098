package storage

type sweepState struct{}
