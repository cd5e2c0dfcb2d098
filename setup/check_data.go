package setup

import (
	"fmt"
	"strconv"
	"strings"
)

// checkPersistence checks whether a restart of Redis loses runs.
func checkPersistence(production bool) func(*node) Check {
	return func(n *node) Check {
		c := Check{Name: "persistence", Verdict: OK}
		aof := n.info["aof_enabled"]
		save, known := n.settings["save"]
		switch {
		case aof == "":
			c.Verdict, c.Message = Warn, "unknown: the server does not allow the check"
			c.Advice = "Make sure that AOF is on (appendonly yes)."
		case aof == "1" && n.info["aof_last_write_status"] == "err":
			c.Verdict, c.Message = Fail, "AOF is on, but its last write failed"
			c.Advice = "Check the disk and the log of Redis."
		case aof == "1" && n.settings["appendfsync"] == "no":
			c.Verdict, c.Message = Warn, "AOF is on, but the operating system decides when data reaches the disk"
			c.Advice = "Set appendfsync everysec (or always)."
		case aof == "1":
			c.Message = "AOF is on"
			if fsync := n.settings["appendfsync"]; fsync != "" {
				c.Message += ", appendfsync " + fsync
			}
		case !known:
			c.Verdict, c.Message = Warn, "AOF is off; it is unknown whether there are snapshots"
			c.Advice = "Turn AOF on (appendonly yes): a crash loses all writes since the last snapshot."
		case save != "":
			c.Verdict, c.Message = Warn, "AOF is off, there are only snapshots (save "+save+")"
			c.Advice = "Turn AOF on (appendonly yes): a crash loses all writes since the last snapshot."
		default:
			c.Verdict, c.Message = Warn, "nothing is written to disk"
			c.Advice = "Turn AOF on (appendonly yes): a restart of Redis loses all runs."
			if production {
				c.Verdict = Fail
			}
		}
		return c
	}
}

const evictionAdvice = "Set maxmemory-policy noeviction: redis-cli CONFIG SET maxmemory-policy noeviction, and in redis.conf."

// checkEviction checks whether Redis evicts keys when its memory is full: a run that lacks one of its keys is broken.
// INFO reports the policy, too, so CONFIG is not needed.
func checkEviction(n *node) Check {
	c := Check{Name: "eviction", Verdict: OK}
	limit, err := strconv.ParseInt(n.info["maxmemory"], 10, 64)
	policy := n.info["maxmemory_policy"]
	switch {
	case err != nil || policy == "":
		c.Verdict, c.Message = Warn, "unknown: the server does not allow the check"
		c.Advice = "Make sure that maxmemory-policy is noeviction."
	case policy == "noeviction":
		c.Message = "noeviction"
	case limit == 0:
		c.Message = policy + ", but without effect: maxmemory is not set"
	case strings.HasPrefix(policy, "volatile-"):
		c.Verdict, c.Message = Warn, "maxmemory-policy "+policy+" evicts keys with a time to live when memory is full, such as request ids"
		c.Advice = evictionAdvice
	default:
		c.Verdict, c.Message, c.Refuse = Fail, "maxmemory-policy "+policy+" evicts data when memory is full", true
		c.Advice = evictionAdvice
	}
	return c
}

const memoryFull = 85 // percent

func checkMemory(n *node) Check {
	c := Check{Name: "memory", Verdict: OK}
	used, err := strconv.ParseInt(n.info["used_memory"], 10, 64)
	if err != nil {
		c.Verdict, c.Message = Warn, "unknown: the server does not allow the check"
		return c
	}
	c.Message = megabytes(used) + " used"
	limit, err := strconv.ParseInt(n.info["maxmemory"], 10, 64)
	if err != nil || limit == 0 {
		c.Message += ", no limit set"
		return c
	}
	percent := used * 100 / limit
	c.Message += fmt.Sprintf(" of %s (%d %%)", megabytes(limit), percent)
	if percent >= memoryFull {
		c.Verdict = Warn
		c.Advice = "Give Redis more memory: when it is full, calls fail until something is deleted."
	}
	return c
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }
