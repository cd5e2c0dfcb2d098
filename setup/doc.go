// Package setup checks whether world-redis can rely on a Redis: whether it answers, is new enough, persists its data
// and evicts nothing. It also reports what is stored there, and can delete it.
//
// It is the command workflow-redis-setup, and `world-redis setup`.
package setup
