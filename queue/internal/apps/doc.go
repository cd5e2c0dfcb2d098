// Package apps holds the registry of the apps of a namespace, chooses the apps that a message may go to, and remembers how they do.
//
// Its interface in two sentences: [Registry] stores registrations in Redis ([Registry.Register], [Registry.Unregister],
// [Registry.List]) and answers which apps a message may go to ([Registry.Choose]), or why there is none ([Registry.Missing]).
// [Health] is called with the result of each delivery, answers how long to wait before an app is tried again ([Health.Wait]),
// and logs a trouble with an app once, not once for each message.
package apps
