// Package migrate reads the runs that other Worlds keep, as copies that [world.RunImporter] takes.
//
// Each source has a file: local.go the folder of @workflow/world-local. The ids of runs, steps and hooks stay, and so do tokens,
// times and bytes. Ids of events follow from their places in the log, as they do for every run in Redis. A copy says what the log
// says: an entity that its World did not bring up to date before a crash is not read.
package migrate
