package apps

import "github.com/world-redis/world-redis"

// markShared notes which apps have an address at which an app of another deployment is alive, too. Each app gets the
// newest other one. The apps are sorted newest first.
func markShared(apps []world.App) {
	alive := map[string][]int{}
	for i, a := range apps {
		if a.Alive && a.Refused == "" {
			alive[a.BaseURL] = append(alive[a.BaseURL], i)
		}
	}
	for _, at := range alive {
		for _, i := range at {
			other := at[0]
			if other == i && len(at) > 1 {
				other = at[1]
			}
			if other != i { // the deployments differ, because a registration is one of an address and a deployment
				apps[i].SharedWith = apps[other].DeploymentID
			}
		}
	}
}
