//go:build !windows

package object

import (
	"errors"
	"os"
)

// syncFolder makes the names in a folder safe.
func syncFolder(path string) error {
	dir, err := os.Open(path) //nolint:gosec // the caller made the path
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
