package projects

import "github.com/alds-dev/alds/internal/web/ui"

// makingProject returns a link to the form of a child project.
func makingProject(v *ui.Visit, parent string) string {
	return v.Link("/ui/new/Scope", "scope", parent)
}

// makingEpic returns a link to the form of an epic.
func makingEpic(v *ui.Visit, project string) string {
	return v.Link("/ui/new/Epic", "scope", project)
}

// makingSprint returns a link to the form of a sprint.
func makingSprint(v *ui.Visit, project string) string {
	return v.Link("/ui/new/Timebox", "scope", project)
}
