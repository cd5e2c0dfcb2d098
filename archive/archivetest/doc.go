// Package archivetest tests what every [world.Archive] must do.
package archivetest
