package streaming

import "context"

// A run that keeps nothing ends before its streams are purged, because they are in other slots. So each of its
// streams holds the run's id in field z of its meta, written before the run is marked as keeping nothing. Reading
// chunks of such a stream includes checking whether the run has ended. Other streams have no extra cost.

// ExpectPurge implements [world.StreamStore]. As with a purge, the run is marked first: streams listed before that
// are found below, and a stream listed after it is marked by its own writer, see [Service.list].
func (s *Service) ExpectPurge(ctx context.Context, runID string) error {
	if err := s.client.Set(ctx, s.emptiesKey(runID), "1", 0).Err(); err != nil {
		return redisError(ctx, err)
	}
	return s.eachStream(ctx, runID, func(name string) error { return s.markEmpties(ctx, runID, name) })
}

func (s *Service) markEmpties(ctx context.Context, runID, name string) error {
	if err := s.client.HSet(ctx, s.keys(name).meta, "z", runID).Err(); err != nil {
		return redisError(ctx, err)
	}
	return nil
}

// eachStream calls f for each name in the list of a run's streams.
func (s *Service) eachStream(ctx context.Context, runID string, f func(name string) error) error {
	for from := int64(0); ; from += purgePage {
		names, err := s.client.ZRange(ctx, s.runKey(runID), from, from+purgePage-1).Result()
		if err != nil {
			return redisError(ctx, err)
		}
		for _, name := range names {
			if name == purgedMark {
				continue
			}
			if err := f(name); err != nil {
				return err
			}
		}
		if len(names) < purgePage {
			return nil
		}
	}
}

// unlessEmptied returns the page, or an empty and ended one if its run has ended and keeps nothing. It checks that
// after the chunks were read, so the returned chunks were read while the run was live.
func (s *Service) unlessEmptied(ctx context.Context, p page) (page, error) {
	if p.empties == "" || s.config.Runs == nil {
		return p, nil
	}
	ends, err := s.runEnds(ctx, []string{p.empties})
	switch {
	case err != nil:
		p.giveBack()
		return page{}, err
	case ends[p.empties].Emptied:
		p.giveBack()
		return page{view: view{done: true}}, nil
	}
	return p, nil
}

// empties returns the value of field z.
func empties(field any) string {
	runID, _ := field.(string)
	return runID
}
