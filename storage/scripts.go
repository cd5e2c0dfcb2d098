package storage

import (
	"embed"

	"github.com/world-redis/world-redis/internal/luascript"
)

//go:embed lua/*.lua lua/lib/*.lua
var luaFiles embed.FS

type script = *luascript.Script

// scriptSet has one field a file in lua/.
type scriptSet struct {
	runCreate, runStart, startRead, runEnd    script
	stepCreate, stepStart, stepEnd, stepRetry script
	stepBegin, stepMend, attrSet, batch       script
	hookCreate, hookConflict, hookFence       script
	hookReceive, hookDispose                  script
	waitCreate, waitComplete                  script
	legacyAppend, legacyCancel                script
	runCancel                                 script
	legacyRunCreate, legacyRunUpdate          script
	legacyStepCreate, legacyStepUpdate        script
	legacyHookCreate, legacyHookDispose       script
	runRead, stepRead, hookRead, runIdle      script
	eventRead, eventPage, eventRelated        script
	valueClaim, valueSwap, valueRelease       script
	watchNext, runClear                       script
	runRemove, locatorRelease, removedNote    script
	runCopy                                   script
	list                                      []*luascript.Script
}

func loadScripts() (*scriptSet, error) {
	set := &scriptSet{}
	for name, field := range map[string]*script{
		"run_create": &set.runCreate, "run_start": &set.runStart, "start_read": &set.startRead, "run_end": &set.runEnd,
		"step_create": &set.stepCreate, "step_start": &set.stepStart, "step_end": &set.stepEnd, "step_retry": &set.stepRetry,
		"step_begin": &set.stepBegin, "step_mend": &set.stepMend, "attr_set": &set.attrSet, "batch": &set.batch,
		"hook_create": &set.hookCreate, "hook_conflict": &set.hookConflict, "hook_fence": &set.hookFence,
		"hook_receive": &set.hookReceive, "hook_dispose": &set.hookDispose,
		"wait_create": &set.waitCreate, "wait_complete": &set.waitComplete,
		"legacy_append": &set.legacyAppend, "legacy_cancel": &set.legacyCancel,
		"run_cancel":        &set.runCancel,
		"legacy_run_create": &set.legacyRunCreate, "legacy_run_update": &set.legacyRunUpdate,
		"legacy_step_create": &set.legacyStepCreate, "legacy_step_update": &set.legacyStepUpdate,
		"legacy_hook_create": &set.legacyHookCreate, "legacy_hook_dispose": &set.legacyHookDispose,
		"run_read": &set.runRead, "step_read": &set.stepRead, "hook_read": &set.hookRead, "run_idle": &set.runIdle,
		"event_read": &set.eventRead, "event_page": &set.eventPage, "event_related": &set.eventRelated,
		"value_claim": &set.valueClaim, "value_swap": &set.valueSwap, "value_release": &set.valueRelease,
		"watch_next": &set.watchNext, "run_clear": &set.runClear,
		"run_remove": &set.runRemove, "locator_release": &set.locatorRelease, "removed_note": &set.removedNote,
		"run_copy": &set.runCopy,
	} {
		loaded, err := luascript.Load(luaFiles, "lua", name)
		if err != nil {
			return nil, err
		}
		*field = loaded
		set.list = append(set.list, loaded)
	}
	return set, nil
}

func (s *scriptSet) all() []*luascript.Script { return s.list }
