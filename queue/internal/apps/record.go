package apps

import (
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/world-redis/world-redis"
)

// record is a value of the hash of registrations. Its field is the deployment and the address.
type record struct {
	BaseURL      string        `cbor:"1,keyasint"`
	DeploymentID string        `cbor:"2,keyasint"`
	SDK          string        `cbor:"3,keyasint,omitempty"`
	SeenAt       world.Millis  `cbor:"4,keyasint"`
	Namespace    string        `cbor:"5,keyasint,omitempty"`
	Lease        time.Duration `cbor:"6,keyasint,omitempty"`
	AliveUntil   world.Millis  `cbor:"7,keyasint,omitempty"` // before the end of the lease if the app unregistered
	TakesPreload bool          `cbor:"8,keyasint,omitempty"`
	Workflows    string        `cbor:"9,keyasint,omitempty"`
	Others       string        `cbor:"10,keyasint,omitempty"`
	OthersUntil  world.Millis  `cbor:"11,keyasint,omitempty"`
	RefusedCBOR  world.Millis  `cbor:"20,keyasint,omitempty"`
}

func fieldOf(a world.App) string { return a.DeploymentID + "\n" + a.BaseURL }

func encode(a world.App) ([]byte, error) {
	value, err := cbor.Marshal(record{
		BaseURL: a.BaseURL, DeploymentID: a.DeploymentID, SDK: a.SDK, SeenAt: a.SeenAt,
		Namespace: a.Namespace, Lease: a.Lease, AliveUntil: a.AliveUntil, TakesPreload: a.TakesPreload,
		Workflows: a.Workflows, Others: a.OtherWorkflows, OthersUntil: a.OthersUntil,
		RefusedCBOR: a.RefusedCBOR,
	})
	if err != nil {
		return nil, fmt.Errorf("encode app: %w", err)
	}
	return value, nil
}

func decode(field, value string) (world.App, error) {
	var r record
	if err := cbor.Unmarshal([]byte(value), &r); err != nil {
		return world.App{}, fmt.Errorf("read app %q: %w", field, err)
	}
	if r.AliveUntil == 0 { // written by a version without leases
		r.AliveUntil = r.SeenAt + longLease
	}
	return world.App{
		BaseURL: r.BaseURL, DeploymentID: r.DeploymentID, SDK: r.SDK, Namespace: r.Namespace,
		Lease: r.Lease, SeenAt: r.SeenAt, AliveUntil: r.AliveUntil, TakesPreload: r.TakesPreload,
		Workflows: r.Workflows, OtherWorkflows: r.Others, OthersUntil: r.OthersUntil,
		RefusedCBOR: r.RefusedCBOR,
	}, nil
}
