package main

import (
	"fmt"
	"strings"
)

// shape is a query with its name in the table.
type shape struct {
	name  string
	query object
}

// shapes returns the rows of the table.
func shapes() []shape {
	stories := func(more object) object {
		q := object{"from": "Story", "select": []any{"Name"}}
		for k, v := range more {
			q[k] = v
		}
		return q
	}
	filter := func(text string) object { return stories(object{"filter": []string{text}}) }
	selected := func(text ...any) object { return stories(object{"select": text}) }
	sorted := func(text string) object {
		return stories(object{"sort": []string{text}, "page": object{"start": 0, "size": 50}})
	}
	var anyOwner []string
	for i := range 50 {
		anyOwner = append(anyOwner, "Owners.Name='"+memberName(3*i)+"'")
	}
	return []shape{
		{"filter Scope.Workitems.Name='zzz'", filter("Scope.Workitems.Name='zzz'")},
		{"filter Owners.OwnedWorkitems.Name!=", filter("Owners.OwnedWorkitems.Name!='zzz'")},
		{"filter Owners.OwnedWorkitems.Name=''", filter("Owners.OwnedWorkitems.Name=''")},
		{"filter Owners.OwnedWorkitems.Owners.OwnedWorkitems.Owners", filter("Owners.OwnedWorkitems.Owners.OwnedWorkitems.Owners.Name='zzz'")},
		{"filter Timebox.Workitems.Owners.Name=", filter("Timebox.Workitems.Owners.Name='Member 7'")},
		{"filter Scope.Workitems.@Count>1000", filter("Scope.Workitems.@Count>'1000'")},
		{"filter 50 ORed Owners.Name=", filter(strings.Join(anyOwner, "|"))},
		{"filter Owners.Name= with 50 values", filter("Owners.Name='" + strings.Join(names(), "','") + "'")},
		{"select Scope.Workitems.@Count", selected("Name", "Scope.Workitems.@Count")},
		{"select Owners.OwnedWorkitems.@Count", selected("Name", "Owners.OwnedWorkitems.@Count")},
		{"select Super.Subs.Estimate.@Sum", selected("Name", "Super.Subs.Estimate.@Sum")},
		{"select 42 attributes with aggregates", selected(wide()...)},
		{"sort Scope.Workitems.@Count", sorted("Scope.Workitems.@Count")},
		{"sort -Owners.OwnedWorkitems.@Count", sorted("-Owners.OwnedWorkitems.@Count")},
		{"sort Super.Subs:Story.Estimate.@Sum", sorted("Super.Subs:Story.Estimate.@Sum")},
		{"sort Owners.@Count", sorted("Owners.@Count")},
		{"sort Children.ToDo.@Sum", sorted("-Children.ToDo.@Sum")},
		{"asof All with owners", stories(object{"asof": "All", "select": []any{"Name", "Owners.Name"}})},
		{"history, names", stories(object{"asof": "All"})},
		{"group by Scope with Workitems.@Count", stories(object{"group": []object{{"from": "Scope", "select": []any{"Name", "Workitems.@Count"}}}})},
		{"group by Owners with OwnedWorkitems.@Count", stories(object{"group": []object{{"from": "Owners", "select": []any{"Name", "OwnedWorkitems.@Count"}}}})},
		{"group by Super with Subs.@Count", stories(object{"select": []any{"Name", "Scope.Workitems.@Count"}, "group": []object{{"from": "Super", "select": []any{"Name", "Subs.@Count"}}}})},
	}
}

func names() []string {
	var list []string
	for i := range 50 {
		list = append(list, memberName(3*i))
	}
	return list
}

// wide returns 42 attributes of a story, a third of them aggregates.
func wide() []any {
	list := []any{
		"Name", "Number", "Description", "Estimate", "Status.Name", "Priority.Name", "Scope.Name", "Timebox.Name", "Super.Name",
		"Team.Name", "Source.Name", "Category.Name", "Owners.Name", "Goals.Name", "Requests.Name", "Issues.Name", "Children.Name",
		"CreateDate", "ChangeDate", "CreatedBy.Name", "ChangedBy.Name", "Order", "Reference", "AssetState", "Scope.Parent.Name",
		"Timebox.BeginDate", "Timebox.EndDate", "Super.Number",
	}
	for _, a := range []string{
		"Children.@Count", "Children.ToDo.@Sum", "Children.DetailEstimate.@Sum", "Children:Task.@Count", "Owners.@Count", "Super.Subs.@Count",
		"Super.Subs.Estimate.@Sum", "Scope.Workitems.@Count", "Scope.Workitems.Estimate.@Sum", "Timebox.Workitems.@Count",
		"Timebox.Workitems.Estimate.@Sum", "Owners.OwnedWorkitems.@Count", "Dependencies.@Count", "Scope.Workitems.Estimate.@Max",
	} {
		list = append(list, a)
	}
	if len(list) != 42 {
		panic(fmt.Sprintf("%d attributes", len(list)))
	}
	return list
}
