package query

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"testing"
)

// kinds has a value of every kind of expression.
var kinds = []Expr{
	ColumnOf{},
	JSON{},
	JSONText{},
	Arg{},
	Num{},
	Null{},
	ActorID{},
	Bounded{},
	Minus{},
	Compare{},
	In{},
	InIDsOfType{},
	CompareAny{},
	IsNull{},
	Like{},
	All{},
	Any{},
	Not{},
	If{},
	Switch{},
	Number{},
	Clock{},
	Coalesce{},
	Days{},
	BoolInt{},
	Exists{},
	InLookup{},
	Scalar{},
	Collated{},
	Beginning{},
	Bytes{},
	Folded{},
	Func{},
	TypeOrder{},
	IDOfType{},
	Visible{},
	SeesMember{},
	SeesAll{},
	NotHidden{},
	OfReadType{},
	Granted{},
	RoleIn{},
	HasRole{},
}

// TestWalkVisitsEveryPart fills every field that can have a part: an expression, a table or a
// statement. It expects one call of the visitor for each part.
func TestWalkVisitsEveryPart(t *testing.T) {
	for _, kind := range kinds {
		x := reflect.New(reflect.TypeOf(kind)).Elem()
		want := fillParts(x)
		var got visits
		Walk(x.Interface().(Expr), &got)
		if int(got) != want {
			t.Errorf("Walk visits %d of the %d parts of %T", got, want, kind)
		}
	}
}

// TestKindsAreComplete checks that kinds has every kind of expression that expr.go declares.
func TestKindsAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "expr.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, kind := range kinds {
		have[reflect.TypeOf(kind).Name()] = true
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "parts" {
			continue
		}
		if name := f.Recv.List[0].Type.(*ast.Ident).Name; !have[name] {
			t.Errorf("%s is no case of this test", name)
		}
	}
}

// visits counts the calls of a walk.
type visits int

func (n *visits) Expr(Expr)      { *n++ }
func (n *visits) Table(*Table)   { *n++ }
func (n *visits) Select(*Select) { *n++ }

// fillParts sets the parts of x and returns the number of parts.
func fillParts(x reflect.Value) int {
	expr := reflect.TypeFor[Expr]()
	switch {
	case x.Type() == reflect.TypeFor[*Table]():
		x.Set(reflect.ValueOf(&Table{}))
		return 1
	case x.Type() == reflect.TypeFor[*Select]():
		x.Set(reflect.ValueOf(&Select{}))
		return 1
	case x.Type() == expr:
		x.Set(reflect.ValueOf(Num{}))
		return 1
	case x.Kind() == reflect.Slice && x.Type().Elem().Implements(expr):
		x.Set(reflect.MakeSlice(x.Type(), 2, 2))
		for i := range 2 {
			fillParts(x.Index(i))
		}
		return 2
	case x.Kind() == reflect.Struct:
		n := 0
		for i := range x.NumField() {
			if f := x.Field(i); f.Type().Implements(expr) && f.Kind() == reflect.Struct {
				n++
			} else {
				n += fillParts(f)
			}
		}
		return n
	}
	return 0
}
