package object

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
)

// OpenFolder returns the archive in a folder, given as file:///folder.
func OpenFolder(address string, o Options) (*Archive, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.RawQuery != "" {
		return nil, fmt.Errorf("%q is no address of a folder: use file:///folder", address)
	}
	root := filepath.FromSlash(u.Path)
	if !filepath.IsAbs(root) {
		return nil, errors.New("the folder of the archive must be absolute: use file:///folder, with three slashes")
	}
	return newArchive(&folder{root: filepath.Clean(root)}, o), nil
}
