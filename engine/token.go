package engine

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
)

// A Token names one callback of one attempt: whoever has it may end the wait that was parked under it, from any process.
// It can be made before the attempt is parked, and given away as its text. It is worth nothing once the attempt is over
// (P3). Tokens are comparable; the zero Token is invalid.
type Token struct {
	receipt Receipt
	nonce   [16]byte
}

// NewToken returns a token of the receipt's attempt that nobody can guess.
func (r Receipt) NewToken() Token {
	t := Token{receipt: r}
	_, _ = rand.Read(t.nonce[:]) // never fails
	return t
}

// Token returns the attempt's token with this nonce, the same each time. The nonce is what makes a token: where those who
// call back aren't trusted it must be as random as that of NewToken.
func (r Receipt) Token(nonce [16]byte) Token { return Token{receipt: r, nonce: nonce} }

// Receipt returns the receipt of the token's attempt.
func (t Token) Receipt() Receipt { return t.receipt }

// tokenVersion is the first byte of a token's text.
const tokenVersion = 1

// String returns the token as text of letters, digits, '-' and '_', for ParseToken. It carries the attempt's receipt: who
// has it could also close the attempt.
func (t Token) String() string {
	r := t.receipt
	shape := int64(0)
	if r.local {
		shape = 1
	}
	text := []byte{tokenVersion}
	for _, n := range []int64{r.claimGeneration, r.batch, r.readyGeneration, r.job, r.runLease, int64(r.lane), int64(r.index), shape} {
		text = binary.AppendVarint(text, n)
	}
	return base64.RawURLEncoding.EncodeToString(append(text, t.nonce[:]...))
}

// ParseToken reads what Token.String wrote: ErrInvalid for anything else. Whether such an attempt ever was, only Resume
// and Park find out.
func ParseToken(text string) (Token, error) {
	const op = "ParseToken"
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 1 || raw[0] != tokenVersion {
		return Token{}, invalid(op, "token", "not the text of a token")
	}
	raw = raw[1:]
	var n [8]int64
	for i := range n {
		v, size := binary.Varint(raw)
		if size <= 0 {
			return Token{}, invalid(op, "token", "cut short")
		}
		n[i], raw = v, raw[size:]
	}
	t := Token{receipt: Receipt{
		claimGeneration: n[0], batch: n[1], readyGeneration: n[2], job: n[3], runLease: n[4], lane: int32(n[5]), index: int32(n[6]), local: n[7] == 1,
	}}
	if len(raw) != len(t.nonce) || int64(t.receipt.lane) != n[5] || int64(t.receipt.index) != n[6] || n[7]&^1 != 0 {
		return Token{}, invalid(op, "token", "not the text of a token")
	}
	copy(t.nonce[:], raw)
	return t, checkReceipt(op, "token", t.receipt)
}

// checkReceipt refuses what no claim gives out.
func checkReceipt(op, value string, r Receipt) error {
	if r.batch <= 0 || r.index < 0 || r.index >= receiptsPerBatch || r.claimGeneration < 0 || r.readyGeneration < 0 {
		return invalid(op, value, "not a receipt of a claim")
	}
	return nil
}
