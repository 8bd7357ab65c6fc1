package pagetest

import (
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// numbers are the numbers in a table. The keys are the day and the head of the column.
type numbers map[string]map[string]float64

func (n numbers) day(d time.Time) map[string]float64 {
	key := d.Format(time.DateOnly)
	if n[key] == nil {
		n[key] = map[string]float64{}
	}
	return n[key]
}

func (n numbers) add(d time.Time, name string, value any) {
	text, _ := value.(string)
	f, _ := strconv.ParseFloat(text, 64)
	n.day(d)[name] += f
}

var (
	tablesOf = regexp.MustCompile(`(?s)<th scope="col">End of</th>(.*?)</tr></thead>(.*?)</table>`)
	headsOf  = regexp.MustCompile(`class="n">([^<]*)</th>`)
	rowsOf   = regexp.MustCompile(`<th scope="row">([-0-9]+)</th>(.*?)</tr>`)
	cellsOf  = regexp.MustCompile(`<td class="n">([^<]*)</td>`)
)

// tables returns the tables of numbers on a page of the parent project. view is the end of the page's path.
func (r *reader) tables(view string) []numbers {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.base+"/ui/project/"+r.parent+view, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.AddCookie(&http.Cookie{Name: ".V1.Ticket.alds", Value: r.token})
	var list []numbers
	for _, table := range tablesOf.FindAllStringSubmatch(string(r.read(req)), -1) {
		heads, one := headsOf.FindAllStringSubmatch(table[1], -1), numbers{}
		for _, row := range rowsOf.FindAllStringSubmatch(table[2], -1) {
			one[row[1]] = map[string]float64{}
			for i, cell := range cellsOf.FindAllStringSubmatch(row[2], -1) {
				one[row[1]][heads[i][1]], _ = strconv.ParseFloat(cell[1], 64)
			}
		}
		list = append(list, one)
	}
	return list
}
