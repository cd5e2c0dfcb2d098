package world

// AppWarning is what is wrong with the registration of an app, for the developer of the app.
type AppWarning struct {
	Code    AppWarningCode
	Message string // one or two sentences with what to do, at most MaxAppWarning bytes
}

// AppWarningCode says what is wrong.
type AppWarningCode string

// The codes.
const (
	// NoAnswer: no workflow app answers at the address.
	NoAnswer AppWarningCode = "no_answer"
	// OtherApp: an app of another deployment, or with other workflows, answers there.
	OtherApp AppWarningCode = "other_app"
	// SharedAddress: apps of two deployments are alive at the address.
	SharedAddress AppWarningCode = "shared_address"
	// LocalhostOfContainer: the app registers localhost from another machine, or from a container.
	LocalhostOfContainer AppWarningCode = "localhost_of_container"
	// SignatureRefused: the app does not accept the service's signature.
	SignatureRefused AppWarningCode = "signature_refused"
)

// The limits of the warnings of one answer.
const (
	MaxAppWarnings = 5
	MaxAppWarning  = 500 // bytes of a message
)
