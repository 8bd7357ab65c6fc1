package asset

import (
	"context"
	"fmt"
)

// hour is the length of an hour in microseconds.
const hour = "3600000000"

// checkChanges counts the changes of the request, and checks them with the bounds of the access token. If the
// bounds limit the changes of an hour, the changes are added to the row of the token, in the transaction of the
// request. The hour begins with its first change. So the count is exact, and writes with such a token wait for each other at their end.
// Errors: fault.Denied. Spec: interface 5.10.
func (s *Session) checkChanges(ctx context.Context) error {
	b := s.who.Bounds
	if b == nil || s.changed == 0 {
		return nil
	}
	inHour := 0
	if b.MaxHourly > 0 && s.who.Token != "" {
		now := s.tx.Dialect().NowMicros
		began := now + " - changed_since < " + hour
		_, err := s.tx.Exec(ctx, `UPDATE access_token SET changed = CASE WHEN `+began+` THEN changed + ? ELSE ? END,`+
			` changed_since = CASE WHEN `+began+` THEN changed_since ELSE `+now+` END WHERE id = ?`, s.changed, s.changed, s.who.Token)
		if err == nil {
			err = s.tx.QueryRow(ctx, `SELECT changed FROM access_token WHERE id = ?`, s.who.Token).Scan(&inHour)
		}
		if err != nil {
			return fmt.Errorf("count the changes of an access token: %w", err)
		}
	}
	return b.CheckChanges(s.changed, inHour)
}
