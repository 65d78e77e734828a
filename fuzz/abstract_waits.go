package fuzz

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/model"
)

// What attempts have told and what they wait for, as Abstract puts it together.

// TokenOf is the engine's token for the model's: the same each time, so that rows tell whose it is.
func TokenOf(r engine.Receipt, token int) engine.Token {
	return r.Token([16]byte{15: byte(token)})
}

// PayloadOf is what the callback of a token brings.
func PayloadOf(token int) json.RawMessage { return fmt.Appendf(nil, `{"token": %d}`, token) }

// tokenIn reads a token, and the payload that came with it where one did.
func tokenIn(what string, nonce []byte, payload *string) (int, error) {
	if len(nonce) != 16 {
		return 0, fmt.Errorf("%s has the token %x", what, nonce)
	}
	token := int(nonce[15])
	if payload == nil {
		return token, nil
	}
	var told struct{ Token int }
	if err := json.Unmarshal([]byte(*payload), &told); err != nil || told.Token != token {
		return 0, fmt.Errorf("%s has the callback of token %d with the payload %s", what, token, *payload)
	}
	return token, nil
}

// attemptState reads what an attempt has told of itself and was told; its receipt must lead to it.
func (t *tables) attemptState(rows pgx.Rows) error {
	var receipt int
	var at *time.Time
	var nonce []byte
	var callback, early *string
	var a model.AttemptRow
	if err := rows.Scan(&a.Job, &a.Lease, &receipt, &at, &a.Percent, &a.Leased, &nonce, &callback, &early); err != nil {
		return err
	}
	if c, there := t.claims[receipt]; !there || c.ID() != a.ID() {
		return fmt.Errorf("the state of attempt %s has the receipt %d, which isn't its own", a.ID(), receipt)
	}
	if at != nil {
		a.Heartbeat = logical(*at)
	}
	what := fmt.Sprintf("the state of attempt %s", a.ID())
	var err error
	if nonce != nil {
		if a.Callback, err = tokenIn(what, nonce, callback); err != nil {
			return err
		}
	}
	if early != nil {
		if a.Early, err = earlyTokens(what, *early); err != nil {
			return err
		}
	}
	t.flat.PutAttemptState(a)
	return nil
}

func earlyTokens(what, text string) (bits int, _ error) {
	var early map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &early); err != nil {
		return 0, err
	}
	for key, payload := range early {
		nonce, err := hex.DecodeString(key)
		if err != nil {
			return 0, err
		}
		brought := string(payload)
		token, err := tokenIn(what, nonce, &brought)
		if err != nil {
			return 0, err
		}
		bits |= 1 << token
	}
	return bits, nil
}

// lease reads a wait; it must lead to its attempt's claim.
func (t *tables) lease(rows pgx.Rows) error {
	var slot, receipt int
	var lane int32
	var nonce []byte
	var timeout *time.Time
	var l model.LeaseRow
	var at model.ClaimRow
	var local bool
	if err := rows.Scan(&slot, &l.Gen, &lane, &l.Job, &l.Lease, &receipt, &at.Gen, &at.ReadyGen, &local, &nonce, &timeout); err != nil {
		return err
	}
	what := fmt.Sprintf("the lease of attempt %s", l.ID())
	if c, there := t.claims[receipt]; !there || c.ID() != l.ID() || c.Gen != at.Gen || c.ReadyGen != at.ReadyGen || (c.Local != 0) != local {
		return fmt.Errorf("%s places it elsewhere than its claim", what)
	}
	if _, twice := t.flat.Lease(l.ID()); twice {
		return fmt.Errorf("%s is there twice", what)
	}
	l.Lane, l.Timeout = t.lanes[lane], deadline(timeout)
	var err error
	if l.Token, err = tokenIn(what, nonce, nil); err != nil {
		return err
	}
	t.flat.PutLease(l)
	return inSlot(what, slot, l.Gen, t.world.LeaseSlots)
}
