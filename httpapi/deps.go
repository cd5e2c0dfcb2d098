package httpapi

import "github.com/world-redis/world-redis/httpapi/internal/operations"

// Deps are the parts that the API of one namespace uses.
type Deps = operations.Deps

// EventAndMessage is the result of an event and of the message that follows it.
type EventAndMessage = operations.EventAndMessage
