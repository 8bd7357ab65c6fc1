package ui

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// ListPage is one page of a list, with the size, start and total that the interface returns.
type ListPage struct {
	Total int `json:"total"`
	Size  int `json:"pageSize"`
	Start int `json:"pageStart"`
	Path  string
	Query url.Values
}

// From returns the position of the first entry, counted from 1.
func (s ListPage) From() int { return min(s.Start+1, s.Total) }

// To returns the position of the last entry, counted from 1.
func (s ListPage) To() int { return min(s.Start+s.Size, s.Total) }

// Before returns the URL of the previous page, or "" on the first page.
func (s ListPage) Before() string {
	if s.Start == 0 {
		return ""
	}
	return s.at(max(s.Start-s.Size, 0))
}

// After returns the URL of the next page, or "" on the last page.
func (s ListPage) After() string {
	if s.Start+s.Size >= s.Total {
		return ""
	}
	return s.at(s.Start + s.Size)
}

func (s ListPage) at(start int) string {
	query := url.Values{}
	maps.Copy(query, s.Query)
	WithoutResults(query)
	query.Set("page", strconv.Itoa(s.Size)+","+strconv.Itoa(start))
	return s.Path + "?" + query.Encode()
}

// Bounds of the page parameter.
const (
	listSize    = 25
	maxListSize = 200
	MaxStart    = 10_000_000
)

// ListPage parses the page parameter, which has the form "size,start" as in the interface.
// Errors: *Error.
func (v *Visit) ListPage() (size, start int, err error) {
	text := v.Param("page")
	if text == "" {
		return listSize, 0, nil
	}
	first, second, _ := strings.Cut(text, ",")
	size, err = strconv.Atoi(first)
	if err == nil && second != "" {
		start, err = strconv.Atoi(second)
	}
	if err != nil || size < 1 || size > maxListSize || start < 0 || start > MaxStart {
		return 0, 0, &Error{Status: http.StatusBadRequest, Message: "page is not a size up to 200 and a start, such as 25,50."}
	}
	return size, start, nil
}

// ListPath adds the page parameter to a path of the interface.
func ListPath(path string, size, start int) string {
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	return path + mark + "page=" + strconv.Itoa(size) + "," + strconv.Itoa(start)
}
