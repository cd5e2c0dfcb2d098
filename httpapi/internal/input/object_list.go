package input

import (
	"github.com/world-redis/world-redis"
	"github.com/world-redis/world-redis/httpapi/internal/refuse"
	"github.com/world-redis/world-redis/internal/cboritem"
)

// Texts returns a list of at most limit texts, each of which must fit the rule.
func (o *Object) Texts(key string, limit int, fits func(string) bool, rule string) []string {
	items := o.List(key, limit)
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := cboritem.TextOf(item)
		if !ok || !fits(s) {
			o.Fail(key, "has an entry that "+rule)
			return nil
		}
		out = append(out, s)
	}
	return out
}

// List returns the entries of a list, which must be present.
func (o *Object) List(key string, limit int) []world.Raw {
	item := o.Get(key)
	if o.Err != nil {
		return nil
	}
	if item == nil {
		o.Err = refuse.Invalid("%s.%s is missing", o.Path, key)
		return nil
	}
	items, ok := itemsOf(item, limit)
	switch {
	case !ok:
		o.Fail(key, "must be a list")
		return nil
	case len(items) > limit:
		o.Err = refuse.Invalid("%s.%s has more entries than the limit of %d", o.Path, key, limit)
		return nil
	}
	return items
}

// itemsOf returns the entries of an array, but at most one more than limit. ok is false if the
// item is no array.
func itemsOf(item world.Raw, limit int) (items []world.Raw, ok bool) {
	if len(item) == 0 || cboritem.MajorOf(item) != cboritem.MajorArray {
		return nil, false
	}
	head, rest, err := cboritem.ReadHead(item)
	if err != nil {
		return nil, false
	}
	for n := uint64(0); head.Indefinite() || n < head.N; n++ {
		if head.Indefinite() && len(rest) > 0 && rest[0] == cboritem.Break {
			return items, true
		}
		if len(items) > limit {
			return items, true
		}
		var one []byte
		if one, rest, err = cboritem.Split(rest); err != nil {
			return nil, false
		}
		items = append(items, one)
	}
	return items, true
}

// ResolveNone reads resolveData.
func (o *Object) ResolveNone() bool {
	none, err := resolveNone(o.Text("resolveData", MaxResolve))
	if o.Err == nil {
		o.Err = err
	}
	return none
}
