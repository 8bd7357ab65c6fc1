package feed

import "github.com/alds-dev/alds/internal/base/fault"

func errAfter(text string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid after: %s (wanted: next of a page, or the sequenceId of a change)", text)
}

func errAhead() error {
	return fault.Invalidf(fault.NoPlace, "after lies behind the last change: it is of another database, or this one was restored")
}

func errPage(text string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid page: %s (wanted: a number of changes from 1 to %d)", text, maxPage)
}

func errType(text string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid type: %s (wanted: AssetCreated or AssetChanged)", text)
}

func errUnknownType(name string) error {
	return fault.Invalidf(fault.NoPlace, "Unknown AssetType: %s", name)
}

func errNeedsFrom(param string) error {
	return fault.Invalidf(fault.NoPlace, "%s needs the parameter from", param)
}

func errMember(token string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid OID token: %s", token)
}

func errOther() error {
	return fault.Deniedf("Only a system administrator may read changes as another member sees them")
}
