package token

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
)

func TestParsePrintsBack(t *testing.T) {
	for _, src := range []string{
		"Name",
		"Owners.Name",
		"Workitems:Story.Estimate.@Sum",
		"Workitems:Story[Owners.@Count!='0'].Estimate.@Sum",
		"Parent#.Name",
		"SuperAndUp:Epic[Category.Name='Initiative'].Name",
		"Children[AssetState!='Dead';ToDo>'0'].@Count",
	} {
		p, err := Parse(src)
		if err != nil || p.String() != src {
			t.Errorf("Parse(%q) = %q, %v", src, p, err)
		}
	}
}

func TestParseFilterPrints(t *testing.T) {
	for src, want := range map[string]string{
		"Name='a'":                               "Name='a'",
		`Name="a"`:                               "Name='a'",
		"Name = 'a' , 'b'":                       "Name='a','b'",
		"IsSelf=true":                            "IsSelf='true'",
		"Name='O''Brien'":                        "Name='O''Brien'",
		`Name='say ""hi""'`:                      `Name='say ""hi""'`,
		`Name='say "hi"'`:                        `Name='say ""hi""'`,
		"Name=''":                                "Name=''",
		"A='1';B='2'|C='3'":                      "A='1';B='2'|C='3'",
		"(A='1';B='2')|C='3'":                    "A='1';B='2'|C='3'",
		"A='1'&(B='2'|C='3')":                    "A='1';(B='2'|C='3')",
		"((A))":                                  "A",
		"+Owners;-SuperAndUp[Scope=$S]":          "+Owners;-SuperAndUp[Scope=$S]",
		"OwnedWorkitems[Children=$].@Count>='2'": "OwnedWorkitems[Children=$].@Count>='2'",
		"Name~='x';Estimate<='3'":                "Name~='x';Estimate<='3'",
	} {
		f, err := ParseFilter(src)
		if err != nil || f.String() != want {
			t.Errorf("ParseFilter(%q) = %q, %v; want %q", src, f, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		what, src string
		at        int
	}{
		{"nothing at all", "", 0},
		{"a dot without a name", "Owners.", 7},
		{"two dots", "A..B", 2},
		{"an aggregate alone", "@Sum", 0},
		{"an aggregate without a name", "Owners.@", 8},
		{"something after the aggregate", "Owners.@Count.Name", 13},
		{"an open bracket", "Owners[Name='a'", 15},
		{"an empty bracket", "Owners[]", 7},
		{"a closing bracket alone", "Owners]", 6},
		{"a downcast to nothing", "Owners:", 7},
		{"white space inside", "Own ers", 4},
		{"a letter outside ASCII", "Näme", 1},
		{"more hops than the limit", strings.Repeat("A.", MaxHops) + "A", 2 * MaxHops},
		{"brackets deeper than the limit", strings.Repeat("A[", MaxDepth+1), 2 * (MaxDepth + 1)},
	} {
		_, err := Parse(c.src)
		if fault.KindOf(err) != fault.Invalid || fault.Place(err) != c.at {
			t.Errorf("%s: Parse(%q) = %v at %d, want at %d", c.what, c.src, err, fault.Place(err), c.at)
		}
	}
}

func TestParseFilterRefuses(t *testing.T) {
	for _, c := range []struct {
		what, src string
		at        int
	}{
		{"nothing at all", "", 0},
		{"no value", "Name=", 5},
		{"an unquoted number", "AssetState=64", 11},
		{"an unquoted word", "Name=abc", 5},
		{"an open quote", "Name='a", 5},
		{"an open parenthesis", "(Name='a'", 9},
		{"a closing parenthesis alone", "Name='a')", 8},
		{"an operator without a right side", "Name='a';", 9},
		{"an unknown operator", "Name=='a'", 5},
		{"a sign with a comparison", "+Name='a'", 5},
		{"a comma at the end", "Name='a',", 9},
		{"a variable in a list of values", "Name='a',$b", 9},
	} {
		_, err := ParseFilter(c.src)
		if fault.KindOf(err) != fault.Invalid || fault.Place(err) != c.at ||
			fault.Public(err) != "Invalid QueryFilter2 token "+c.src {
			t.Errorf("%s: ParseFilter(%q) = %v at %d, want at %d", c.what, c.src, err, fault.Place(err), c.at)
		}
	}
}

func TestLimitsAreNamed(t *testing.T) {
	for what, src := range map[string]string{
		"too many terms: the limit is 200":              strings.Repeat("A;", MaxTerms) + "A",
		"too many values in a list: the limit is 10000": "A='1'" + strings.Repeat(",'1'", MaxValues),
		"too many levels of brackets: the limit is 8":   strings.Repeat("(", MaxDepth+1),
	} {
		if _, err := ParseFilter(src); fault.Public(err) != what {
			t.Errorf("got %v, want %s", err, what)
		}
	}
}

func TestParseLists(t *testing.T) {
	list, err := ParseList("Name, Owners[Name='a','b'].Name,ID")
	if err != nil || len(list) != 3 || list[1].String() != "Owners[Name='a','b'].Name" {
		t.Errorf("ParseList = %v, %v", list, err)
	}
	sorts, err := ParseSort(" Name,-Estimate,+ID")
	if err != nil || len(sorts) != 3 || sorts[0].Desc || !sorts[1].Desc || sorts[2].Desc {
		t.Errorf("ParseSort = %v, %v", sorts, err)
	}
	if _, err := ParseList("Name,,ID"); fault.Place(err) != 5 {
		t.Errorf("two commas: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"Name", "Workitems:Story.Estimate.@Sum", "Owners.@Count", "A..B", "@Sum", "P#:T[+A;-B|C='x''y',\"z\"].D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Parse(src)
		checkError(t, src, err)
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("Parse(%q) prints %q, which reads as %q, %v", src, p, again, err)
		}
	})
}

func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"Name='a'", "(A='1'|B=$x);C[D=$]", "+A&-B", `A='""'''`, "IsSelf=TRUE", "A~='%'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := ParseFilter(src)
		checkError(t, src, err)
		if err != nil {
			return
		}
		again, err := ParseFilter(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("ParseFilter(%q) prints %q, which reads as %q, %v", src, p, again, err)
		}
	})
}

func checkError(t *testing.T, src string, err error) {
	t.Helper()
	if err != nil && (fault.KindOf(err) != fault.Invalid || fault.Place(err) < 0 || fault.Place(err) > len(src)) {
		t.Fatalf("%q: malformed error %v at %d", src, err, fault.Place(err))
	}
}
