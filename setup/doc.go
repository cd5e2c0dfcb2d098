// Package setup looks at a Redis and says whether world-redis can rely on it: whether it
// answers, is new enough, keeps what it is given and evicts nothing; and what is stored
// there. It can also remove what is stored.
//
// It is the command workflow-redis-setup, and `world-redis setup`.
package setup
