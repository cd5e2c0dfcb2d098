package world

// CheckRepeated refuses a list of ids that contains one twice. kind is what the ids name, for the error message.
func CheckRepeated(kind string, list []string) error {
	seen := make(map[string]struct{}, len(list))
	for _, id := range list {
		if _, twice := seen[id]; twice {
			return Errorf(CodeRepeatedID, "The %s %.300q stands there twice", kind, id)
		}
		seen[id] = struct{}{}
	}
	return nil
}
