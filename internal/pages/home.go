package pages

// home serves GET ui/, the first page.
func home(v *visit) error {
	return v.render("home", "Projects", nil)
}
