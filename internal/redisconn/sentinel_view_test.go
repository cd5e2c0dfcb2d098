package redisconn

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewestViewOfSentinels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		views []view
		want  string // "": they do not agree
	}{
		"all agree":                               {[]view{{3, "a", nil}, {3, "a", nil}, {3, "a", nil}}, "a"},
		"one has led a failover":                  {[]view{{3, "a", nil}, {4, "b", nil}, {3, "a", nil}}, "b"},
		"one was cut off":                         {[]view{{4, "b", nil}, {3, "a", nil}, {4, "b", nil}}, "b"},
		"two have led one each":                   {[]view{{4, "b", nil}, {5, "c", nil}, {3, "a", nil}}, "c"},
		"most, of those that tell no epoch":       {[]view{{0, "a", nil}, {0, "b", nil}, {0, "a", nil}}, "a"},
		"as many, of those that tell no epoch":    {[]view{{0, "a", nil}, {0, "b", nil}}, ""},
		"not those of an older epoch, if as many": {[]view{{4, "a", nil}, {4, "b", nil}, {3, "a", nil}}, ""},
	} {
		master, err := newest(c.views)
		require.Equal(t, c.want, master, name)
		require.Equal(t, c.want == "", err != nil, name)
	}
}
