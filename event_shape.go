package world

import "unicode/utf16"

// Rules of requests that a store keeps as well: the API checks the shape of each request, and a store only makes sure that it can
// use what it is given. Each rule has one sentence.

// CheckID refuses what is no id. name is what it is the id of, for the message.
func CheckID(name, id string) error {
	if !ValidID(id) {
		return Errorf(CodeInvalid, "%s %s", name, IDRule)
	}
	return nil
}

// CheckList refuses a list of ids that has more than so many, or one of them twice. kind is what they are of, for the message.
func CheckList(kind string, list []string, most int) error {
	if len(list) > most {
		return Errorf(CodeInvalid, "%d %ss are given; at most %d are allowed", len(list), kind, most)
	}
	return CheckRepeated(kind, list)
}

// CheckCancelReason refuses a reason of a cancellation that is too long; JavaScript counts characters as UTF-16 does. name is
// that of the field, for the message.
func CheckCancelReason(name, reason string) error {
	if n := len(utf16.Encode([]rune(reason))); n > MaxCancelReason {
		return Errorf(CodeInvalid, "%s has %d characters; at most %d are allowed", name, n, MaxCancelReason)
	}
	return nil
}
