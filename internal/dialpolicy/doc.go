// Package dialpolicy decides which addresses the service connects to when a token holder chooses the address: an app
// that it delivers to, checks, or passes webhooks to.
//
// An address is checked twice by the same rules: at registration, by its text ([Policy.Check]), and when it is
// dialled, after name resolution, for each address that is tried ([Policy.Dial]). Only the second check protects
// against a name that resolves to something else by then.
package dialpolicy
