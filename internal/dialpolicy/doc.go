// Package dialpolicy decides where the service connects to when a holder of a token chooses the address: an app that it
// delivers to, checks, or passes webhooks to.
//
// An address is checked twice by the same rules. When it is registered, as far as its text tells: [Policy.Check]. And when
// it is dialled, after its name was looked up, for each address that is tried: [Policy.Dial]. Only the second one holds
// against a name that resolves to something else by then.
package dialpolicy
