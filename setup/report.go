package setup

// Verdict is the result of a check.
type Verdict string

// The verdicts, from good to bad.
const (
	OK   Verdict = "ok"
	Warn Verdict = "warn" // works, but not as safely as it should, or could not be checked
	Fail Verdict = "fail" // data will be lost, or nothing works
)

func (v Verdict) rank() int {
	switch v {
	case OK, "":
		return 0
	case Warn:
		return 1
	default:
		return 2
	}
}

// Check is the result of one check.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message"`          // what was found
	Advice  string  `json:"advice,omitempty"` // what to do about it; empty if all is well
	Refuse  bool    `json:"refuse,omitempty"` // in production the service does not start with it
}

// Replica is a process of the service that delivers messages.
type Replica struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version,omitempty"` // of its build; empty if it is an older one, which does not say
	Older   bool   `json:"older,omitempty"`   // its build does not know removed runs
}

// KeyCount is the number of keys of a kind.
type KeyCount struct {
	Kind  string `json:"kind"`
	Type  string `json:"type"`  // Redis data structure
	Holds string `json:"holds"` // what they hold
	Count int64  `json:"count"`
}

// QueueDepth is the number of messages in a queue, by state.
type QueueDepth struct {
	Queue         string `json:"queue"`
	Pending       int64  `json:"pending"`   // to be delivered now
	Active        int64  `json:"active"`    // being delivered
	Scheduled     int64  `json:"scheduled"` // delayed before their first delivery
	Retry         int64  `json:"retry"`     // delayed before another delivery
	WaitingForApp int64  `json:"stalled"`   // those of Retry that wait for an app
	Dead          int64  `json:"dead"`      // set aside as undeliverable
}

// Flushed is the result of a flush.
type Flushed struct {
	Deleted int64 `json:"deleted"` // keys
}

// Report is everything that was found.
type Report struct {
	Address   string       `json:"address"` // without the password
	Mode      string       `json:"mode"`
	Server    string       `json:"server,omitempty"` // such as "Redis 7.2.5"
	Prefix    string       `json:"prefix"`
	JobPrefix string       `json:"jobPrefix"`
	Verdict   Verdict      `json:"verdict"` // the worst of Checks
	Checks    []Check      `json:"checks"`
	Growth    *Growth      `json:"growth,omitempty"`   // absent if it is unknown
	Replicas  []Replica    `json:"replicas,omitempty"` // of the service that are alive
	Keys      []KeyCount   `json:"keys"`
	TotalKeys int64        `json:"totalKeys"`
	OtherKeys int64        `json:"otherKeys"`         // of installations with a longer prefix; not in Keys
	Queues    []QueueDepth `json:"queues"`            // null if unknown
	Flushed   *Flushed     `json:"flushed,omitempty"` // only after a flush
}

func (r *Report) add(checks ...Check) {
	for _, c := range checks {
		r.Checks = append(r.Checks, c)
		if c.Verdict.rank() > r.Verdict.rank() {
			r.Verdict = c.Verdict
		}
	}
}
