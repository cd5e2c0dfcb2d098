package dialpolicy

// RefusedError says why the service does not connect to an address.
type RefusedError struct {
	Address string // as given, or the IP address that its name resolved to
	Reason  string // with a hint if there is one
}

// Error implements error.
func (e *RefusedError) Error() string {
	return "this service does not connect to " + e.Address + ": " + e.Reason
}

// DialRefused marks the error for packages that do not import this one.
func (e *RefusedError) DialRefused() bool { return true }
